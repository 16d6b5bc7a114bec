# SPDX-License-Identifier: Apache-2.0
"""Bring Python errors through the JVM.

An error that Python raises while the JVM calls it travels through the JVM as the Java class `bayou.DeltaError`. `extend_conversion`
patches PySpark's conversion of Java exceptions, so that the user gets the original Python error again.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pyspark.errors.exceptions import captured

from bayou import errors
from bayou.spark.errors.conversion import as_pyspark
from bayou.spark.jvm.core.callbacks import ERRORS, JAVA_ERRORS
from bayou.spark.jvm.core.exceptions import causes, class_of, declared, key_of, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.jvm.core.bridge import JavaObject

_FAILED_READS = ("[FAILED_READ_FILE", "Encountered error while reading file")
"""Parts of Spark's messages about a file that a task could not read."""
_SCAN = "FileScanRDD"
"""Part of the stack trace of such an error on Spark 3.5, which adds no message. There the message of Parquet names the file."""
_REASON = 300
"""The maximum number of characters of the reason in an error."""


def extend_conversion(
    data_file_missing: Callable[[str], errors.DeltaError | None],
    data_file_unreadable: Callable[[str, str], errors.DeltaError | None],
) -> None:
    """Extend PySpark's conversion of Java exceptions by bayou's errors. Idempotent.

    Args:
        data_file_missing: returns the error for a file that Spark did not find; None if it does not belong to a table.
        data_file_unreadable: returns the error for a file that Spark could not read, from Spark's message and the reason.
    """
    original = captured.convert_exception
    if getattr(original, "knows_bayou", False):
        return

    @functools.wraps(original)
    def convert(java_exception: JavaObject) -> Any:
        messages: list[str] = []  # `_carried` fills it, so it must run first
        error = _carried(java_exception, data_file_missing, messages) or _unreadable(messages, data_file_unreadable)
        return error if error is not None else original(declared(java_exception))

    convert.knows_bayou = True  # type: ignore[attr-defined]
    captured.convert_exception = convert  # type: ignore[assignment]


def _carried(
    java_exception: JavaObject, data_file_missing: Callable[[str], errors.DeltaError | None], messages: list[str]
) -> BaseException | None:
    """Return the Python error behind a Java exception, or None.

    It is the Python exception that a callback raised, or the error for a data file that Spark did not find.

    Args:
        messages: an output: the messages of the exception and its causes, outermost first. Each one costs a call into the JVM, so
            `_unreadable` uses them again.
    """
    for cause in causes(java_exception):
        name, text = class_of(cause), message_of(cause)
        messages.append(text)
        if name in JAVA_ERRORS:
            error = ERRORS.get(key_of(cause))
            if isinstance(error, errors.DeltaError):
                return as_pyspark(error)
            if isinstance(error, KeyboardInterrupt):
                return error
            unexpected = errors.SessionError(text)
            unexpected.__cause__ = error
            return as_pyspark(unexpected)
        if name.endswith("FileNotFoundException") or "FILE_NOT_EXIST" in text:
            missing = data_file_missing(text)
            if missing is not None:
                return as_pyspark(missing)
    return None


def _unreadable(messages: list[str], data_file_unreadable: Callable[[str, str], errors.DeltaError | None]) -> BaseException | None:
    """Return the error for an existing file that a task could not read, or None for other failures.

    The reason is the message of the innermost cause, because the causes between it and Spark's message only wrap it.
    """
    for position, text in enumerate(messages):
        head = text.partition("\n\tat ")[0]  # without the stack trace
        if any(mark in head for mark in _FAILED_READS) or (_SCAN in text and ".parquet" in head):
            reasons = [each.split("\n", 1)[0].strip() for each in messages[position + 1 :]]
            reason = next((each for each in reversed(reasons) if each), text.split("\n", 1)[0])
            error = data_file_unreadable(head, reason[:_REASON])
            return None if error is None else as_pyspark(error)
    return None
