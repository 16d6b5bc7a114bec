# SPDX-License-Identifier: Apache-2.0
"""Read Java exceptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.spark.jvm.core.bridge import JavaObject

_WRITING: Final = re.compile(
    r"\b(?:ParquetOutputWriter|ParquetOutputFormat|ParquetFileWriter|ParquetRecordWriter|ManifestFileCommitProtocol"
    r"|SingleDirectoryDataWriter|DynamicPartitionDataSingleWriter|DynamicPartitionDataConcurrentWriter|LocalOutputStream)\b"
)
"""Classes in the trace of a file system error which show that a file was being written, not read."""
_READING: Final = re.compile(r"\b(?:FileScanRDD|ParquetFileReader|SplitReader)\b")
_OF_FILES: Final = ("java.io.", "java.nio.file.", "org.apache.hadoop.fs.", "org.apache.hadoop.hdfs.", "org.apache.hadoop.security.")


_UNDECLARED: Final = "java.lang.reflect.UndeclaredThrowableException"
_CAUSES: Final = 12
"""The most causes of an exception that are read."""


def thrown_by(error: BaseException) -> JavaObject | None:
    """Return the Java exception behind an error of PySpark or py4j, or None."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def causes(thrown: JavaObject | None) -> Iterator[JavaObject]:
    """Yield a Java exception and its causes, outermost first, up to the search depth. Yields nothing for None."""
    for _ in range(_CAUSES):
        if thrown is None:
            return
        yield thrown
        thrown = thrown.getCause()


def class_of(thrown: JavaObject) -> str:
    """Return the full name of a Java exception's class."""
    name: str = thrown.getClass().getName()
    return name


def message_of(thrown: JavaObject) -> str:
    """Return the message of a Java exception, or an empty string."""
    return thrown.getMessage() or ""


def shown(thrown: JavaObject) -> str:
    """Return a Java exception's class and message for users."""
    return f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}"


def key_of(thrown: JavaObject) -> str:
    """Return the key of the Python exception that an exception of bayou carries."""
    key: str = thrown.key()
    return key


def declared(thrown: JavaObject) -> JavaObject:
    """Return what a callback threw. Java wraps it if Java cannot say that a callback throws it, such as AnalysisException."""
    while class_of(thrown) == _UNDECLARED and thrown.getCause() is not None:
        thrown = thrown.getCause()
    return thrown


def is_failed_write(cause: JavaObject) -> bool:
    """Whether a Java exception is an error of the file system for a file that was being written."""
    jvm = Jvm.running()
    if jvm is None or not cause.getClass().getName().startswith(_OF_FILES):
        return False
    trace = jvm.module("org.apache.spark.util.Utils").exceptionString(cause)
    # A task that writes rows also reads them: a reader in the trace means that the innermost call was a read.
    return _WRITING.search(trace) is not None and _READING.search(trace) is None
