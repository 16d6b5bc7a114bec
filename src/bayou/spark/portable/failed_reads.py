# SPDX-License-Identifier: Apache-2.0
"""The errors of failed queries. They name the table and the data file that Spark did not find, or could not read."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import unquote

from pyspark.errors import PySparkException, StreamingQueryException

from bayou.spark.errors.conversion import as_pyspark

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.errors import DeltaError

try:
    from py4j.protocol import Py4JJavaError
except ImportError:  # `pyspark-client` has no py4j
    FAILED: tuple[type[Exception], ...] = (PySparkException,)
else:
    FAILED = (PySparkException, Py4JJavaError)
"""The exceptions of a failed query. On a classic session a failed job is one of py4j."""

_MISSING: Final = ("FAILED_READ_FILE.FILE_NOT_EXIST", "FileNotFoundException")
_UNREADABLE: Final = ("[FAILED_READ_FILE", "Encountered error while reading file")
_TRACE: Final = "\n\tat "
_OF_CALL: Final = re.compile(r"^An error occurred while calling [^\n]*\n: (?:[\w$]+\.)+[\w$]+: ")
"""What py4j writes before Spark's message."""
_CAUSE: Final = "Caused by: "
_REASON: Final = 300
"""The maximum number of characters of the reason in an error."""


def message_of_failure(error: Exception) -> str:
    """Return Spark's message of a failed query."""
    return _OF_CALL.sub("", str(error))


def convert_failed_reads(client: Any, about_file: Callable[[Exception], DeltaError | None]) -> None:
    """Replace errors of a client about data files of Delta tables by those of a classic session.

    Args:
        about_file: returns the error of a failed query about such a file; see `error_about_file`.
    """
    original = getattr(client, "_handle_rpc_error", None)  # the only place that sees the errors of all requests
    if original is None:
        return

    @functools.wraps(original)
    def handle(*arguments: Any) -> NoReturn:
        try:
            original(*arguments)
        except PySparkException as error:
            found = about_file(error)
            if found is None:
                raise
            raise as_pyspark(found) from error
        raise AssertionError  # the original raises

    client._handle_rpc_error = handle  # noqa: SLF001


def error_about_file(
    error: Exception, *, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]
) -> DeltaError | None:
    """Return the error of a failed query about a data file of a Delta table; None for other errors.

    Args:
        missing: returns the error for a file that Spark did not find, from Spark's message; None for a file of no table.
        unreadable: returns the error for a file that Spark could not read, from Spark's message and the reason.
    """
    if isinstance(error, StreamingQueryException):  # a classic session leaves it, too
        return None
    text = message_of_failure(error).partition(_TRACE)[0]
    found: DeltaError | None = None
    # Spark writes paths percent-encoded here, and a classic session does not.
    for each in dict.fromkeys((unquote(text), text)):
        if any(mark in each for mark in _MISSING):
            found = found or missing(each)
        elif any(mark in each for mark in _UNREADABLE):
            found = found or unreadable(each, _reason(error) or each.split("\n", 1)[0][:_REASON])
    return found


def _reason(error: Exception) -> str:
    """Return the message of the innermost cause. The causes between it and Spark's message only wrap it."""
    trace = getattr(error, "getStackTrace", lambda: None)() or str(error)
    causes = [line.partition(_CAUSE)[2] for line in trace.splitlines() if line.startswith(_CAUSE)]
    return next((cause.partition(": ")[2][:_REASON] for cause in reversed(causes) if ": " in cause), "")
