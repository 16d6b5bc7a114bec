# SPDX-License-Identifier: Apache-2.0
"""Recognise errors of a task in which the file system refused a file that the task was writing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject

_WRITING: Final = re.compile(
    r"\b(?:ParquetOutputWriter|ParquetOutputFormat|ParquetFileWriter|ParquetRecordWriter|ManifestFileCommitProtocol"
    r"|SingleDirectoryDataWriter|DynamicPartitionDataSingleWriter|DynamicPartitionDataConcurrentWriter|LocalOutputStream)\b"
)
"""Classes in the trace of a file system error which show that a file was being written, not read."""
_READING: Final = re.compile(r"\b(?:FileScanRDD|ParquetFileReader|SplitReader)\b")
_OF_FILES: Final = ("java.io.", "java.nio.file.", "org.apache.hadoop.fs.", "org.apache.hadoop.hdfs.", "org.apache.hadoop.security.")


def is_failed_write(cause: JavaObject) -> bool:
    """Whether a Java exception is an error of the file system for a file that was being written."""
    jvm = Jvm.running()
    if jvm is None or not cause.getClass().getName().startswith(_OF_FILES):
        return False
    trace = jvm.module("org.apache.spark.util.Utils").exceptionString(cause)
    # A task that writes rows also reads them: a reader in the trace means that the innermost call was a read.
    return _WRITING.search(trace) is not None and _READING.search(trace) is None
