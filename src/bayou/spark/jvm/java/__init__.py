# SPDX-License-Identifier: Apache-2.0
"""The Java adapters, as sources; `bayou.spark.jvm.core.adapters` compiles them on the running JVM."""
