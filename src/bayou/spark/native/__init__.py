# SPDX-License-Identifier: Apache-2.0
"""What only a classic session has: the native backend. It works on objects of the JVM, through the functions of `spark.jvm`."""
