# SPDX-License-Identifier: Apache-2.0
"""Hold the sources of the Java adapters: classes that py4j cannot implement, or that Spark looks up by name.

They are compiled on the running JVM. An adapter decides nothing: it finds its node or call and asks Python.
"""
