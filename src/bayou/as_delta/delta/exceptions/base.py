# SPDX-License-Identifier: Apache-2.0
"""`delta.exceptions.base`: the classes that bayou raises on a session when writers are in each other's way.

Each is a PySpark exception, as delta-spark's are. Here `DeltaConcurrentModificationException` catches all of them.
"""

from __future__ import annotations

from bayou import errors
from bayou.spark.errors.conversion import pyspark_class

__all__ = [
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
]

DeltaConcurrentModificationException = pyspark_class(errors.ConcurrentModificationError)
ConcurrentWriteException = pyspark_class(errors.ConcurrentWriteException)
MetadataChangedException = pyspark_class(errors.MetadataChangedException)
ProtocolChangedException = pyspark_class(errors.ProtocolChangedException)
ConcurrentAppendException = pyspark_class(errors.ConcurrentAppendException)
ConcurrentDeleteReadException = pyspark_class(errors.ConcurrentDeleteReadException)
ConcurrentDeleteDeleteException = pyspark_class(errors.ConcurrentDeleteDeleteException)
ConcurrentTransactionException = pyspark_class(errors.ConcurrentTransactionException)

for _name in __all__:  # programs print them, and look for them in traces
    _made = globals()[_name]
    _made.__module__, _made.__name__, _made.__qualname__ = "delta.exceptions.base", _name, _name
