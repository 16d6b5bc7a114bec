# SPDX-License-Identifier: Apache-2.0
"""Sessions without a JVM in reach: Spark Connect, through the documented DataFrame API and the client's own requests."""
