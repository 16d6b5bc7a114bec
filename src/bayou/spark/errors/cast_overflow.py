# SPDX-License-Identifier: Apache-2.0
"""Casts of new values that overflow: Spark's error, which names the column of an INSERT, told as that of an UPDATE or a MERGE."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from bayou.errors import CastOverflowError, DeltaError
from bayou.spark.errors.conversion import causes

if TYPE_CHECKING:
    from collections.abc import Iterator

_OVERFLOW: Final = re.compile(
    r'\[CAST_OVERFLOW_IN_TABLE_INSERT\][^"]*"(?P<given>[^"]+)"[^"]*"(?P<wanted>[^"]+)"[^`]*(?P<column>`(?:[^`]|``)+`(\.`(?:[^`]|``)+`)*)'
)
"""Spark's message; it has the types and the column in this order since 3.3."""


@contextmanager
def naming_overflow(table: str, version: int) -> Iterator[None]:
    """Within it, a value that its column's type cannot hold is an error of bayou's.

    Raises:
        CastOverflowError: a new value does not fit.
    """
    try:
        yield
    except DeltaError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        found = _overflow_in(error)
        if found is None:
            raise
        raise CastOverflowError(
            f'Failed to write a value of "{found["given"]}" type into the "{found["wanted"]}" type column {found["column"]} '
            "due to an overflow, or because what it is computed from failed.",
            table=table,
            version=version,
            next_step="use try_cast on the value to store NULL instead, or set spark.sql.storeAssignmentPolicy to LEGACY.",
            column=found["column"],
            source_type=found["given"],
            target_type=found["wanted"],
        ) from error


def _overflow_in(error: PySparkException | Py4JJavaError) -> re.Match[str] | None:
    thrown = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    for text in (str(error), *(cause.getMessage() or "" for cause in causes(thrown))):
        found = _OVERFLOW.search(text)
        if found is not None:
            return found
    return None
