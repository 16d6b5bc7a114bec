# SPDX-License-Identifier: Apache-2.0
"""Name the table and the data file when the server did not find a file, or could not read it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import unquote

from pyspark.errors import PySparkException, StreamingQueryException

from bayou.spark.backend import is_of_connect
from bayou.spark.errors.conversion import as_pyspark

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.errors import DeltaError

_MISSING: Final = ("FAILED_READ_FILE.FILE_NOT_EXIST", "FileNotFoundException")
_UNREADABLE: Final = ("[FAILED_READ_FILE", "Encountered error while reading file")
_TRACE: Final = "\n\tat "
_CAUSE: Final = "Caused by: "
_REASON: Final = 300
"""The maximum number of characters of the reason in an error."""


def convert_failed_reads(
    client: Any, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]
) -> None:
    """Replace errors of a client about data files of Delta tables by those of a classic session.

    Args:
        missing: returns the error for a file that Spark did not find, from Spark's message; None for a file of no table.
        unreadable: returns the error for a file that Spark could not read, from Spark's message and the reason.
    """
    if not is_of_connect(client):
        _convert_on_classic(missing, unreadable)
        return
    original = getattr(client, "_handle_rpc_error", None)  # the only place that sees the errors of all requests
    if original is None:
        return

    @functools.wraps(original)
    def handle(*arguments: Any) -> NoReturn:
        try:
            original(*arguments)
        except PySparkException as error:
            found = _about_file(error, missing, unreadable)
            if found is None:
                raise
            raise as_pyspark(found) from error
        raise AssertionError  # the original raises

    client._handle_rpc_error = handle  # noqa: SLF001


def _convert_on_classic(missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]) -> None:
    """Replace such errors where PySpark converts the Java exceptions of a classic session. Idempotent."""
    from pyspark.errors.exceptions import captured  # noqa: PLC0415  (of classic sessions)

    original: Any = captured.convert_exception
    if getattr(original, "names_files", False):
        return

    @functools.wraps(original)
    def convert(java_exception: Any) -> Any:
        error = original(java_exception)
        found = _about_file(error, missing, unreadable)
        return error if found is None else as_pyspark(found)

    convert.names_files = True  # type: ignore[attr-defined]
    captured.convert_exception = convert  # type: ignore[assignment]


def _about_file(
    error: PySparkException, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]
) -> DeltaError | None:
    if isinstance(error, StreamingQueryException):  # a classic session leaves it, too
        return None
    text = str(error).partition(_TRACE)[0]
    found: DeltaError | None = None
    # Spark writes paths percent-encoded here, and a classic session does not.
    for each in dict.fromkeys((unquote(text), text)):
        if any(mark in each for mark in _MISSING):
            found = found or missing(each)
        elif any(mark in each for mark in _UNREADABLE):
            found = found or unreadable(each, _reason(error) or each.split("\n", 1)[0][:_REASON])
    return found


def _reason(error: PySparkException) -> str:
    """Return the message of the innermost cause. The causes between it and Spark's message only wrap it."""
    trace = getattr(error, "getStackTrace", lambda: getattr(error, "_stackTrace", None))() or ""
    causes = [line.partition(_CAUSE)[2] for line in trace.splitlines() if line.startswith(_CAUSE)]
    return next((cause.partition(": ")[2][:_REASON] for cause in reversed(causes) if ": " in cause), "")
