# SPDX-License-Identifier: Apache-2.0
"""Failed calls into the JVM of a classic session, for code that serves every session.

What reads them is above this module and needs the JVM, so this module names it and loads it after such a call only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import PySparkException

from bayou.errors import DeltaError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NATIVE: Final = "bayou.spark.native.errors.failed_calls"
_PY4J: Final = "py4j."


def is_failed_call(error: Exception) -> bool:
    """Whether an error is one of PySpark or py4j. Check the latter by name, because a client of Spark Connect has no py4j."""
    return isinstance(error, PySparkException) or _is_of_py4j(error)


def failed_calls() -> tuple[type[Exception], ...]:
    """Return the exceptions of a failed call on a classic session."""
    return cast("tuple[type[Exception], ...]", _native().FAILED)


def reason_of(error: Exception) -> str:
    """Return the first line of Spark's message of a failed call."""
    if _is_of_py4j(error) and not isinstance(error, DeltaError):  # no call failed if bayou raised it
        return str(_native().reason(error))
    return next((line.strip() for line in str(error).split("\n") if line.strip()), "")


def explained_call(error: Exception) -> DeltaError | None:
    """Return the error for a call of a method that this Spark lacks, or None for other errors."""
    return cast("DeltaError | None", _native().explained(error)) if _is_of_py4j(error) else None


def messages_of(error: Exception) -> Iterator[str]:
    """Yield the message of an error and those of the Java exceptions behind it, the outermost first."""
    yield str(error)
    if _is_of_py4j(error) or getattr(error, "_origin", None) is not None:
        yield from _native().messages(error)


def py4j_error() -> type[Exception]:
    """Return the class of py4j's exceptions that programs written for delta-spark catch."""
    return cast("type[Exception]", _native().DeltaPy4JError)


def _is_of_py4j(error: Exception) -> bool:
    return any(base.__module__.startswith(_PY4J) for base in type(error).__mro__)


def _native() -> Any:
    return import_module(_NATIVE)
