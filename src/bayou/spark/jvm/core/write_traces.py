# SPDX-License-Identifier: Apache-2.0
"""Which errors of a task say that the file system refused a file that the task was writing."""

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
"""Classes in the trace of an error of the file system that say that a file was being written, and none was being read."""
_READING: Final = re.compile(r"\b(?:FileScanRDD|ParquetFileReader|SplitReader)\b")
_OF_FILES: Final = ("java.io.", "java.nio.file.", "org.apache.hadoop.fs.", "org.apache.hadoop.hdfs.", "org.apache.hadoop.security.")


def is_failed_write(cause: JavaObject) -> bool:
    """Whether a Java exception is the file system's, about a file that was being written."""
    jvm = Jvm.running()
    if jvm is None or not cause.getClass().getName().startswith(_OF_FILES):
        return False
    trace = jvm.module("org.apache.spark.util.Utils").exceptionString(cause)
    # The task that writes rows reads them, too: the trace is that of the innermost call.
    return _WRITING.search(trace) is not None and _READING.search(trace) is None
