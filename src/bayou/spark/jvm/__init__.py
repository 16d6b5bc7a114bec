# SPDX-License-Identifier: Apache-2.0
"""What bayou knows of Spark's internals: every class name, every constructor, every py4j call."""
