# SPDX-License-Identifier: Apache-2.0
"""The Java adapters as source text, compiled on the running JVM: what py4j cannot implement, or Spark looks up by name.

Nothing here decides; an adapter finds its node or call and asks Python.
"""
