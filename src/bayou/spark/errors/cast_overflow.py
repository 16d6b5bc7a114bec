# SPDX-License-Identifier: Apache-2.0
"""Replace Spark's error for a cast overflow, which always names an INSERT, by one that fits UPDATE and MERGE."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.spark.errors.failed_calls import is_failed_call, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_OVERFLOW: Final = re.compile(
    r'\[CAST_OVERFLOW_IN_TABLE_INSERT\][^"]*"(?P<given>[^"]+)"[^"]*"(?P<wanted>[^"]+)"[^`]*(?P<column>`(?:[^`]|``)+`(\.`(?:[^`]|``)+`)*)'
)
"""Spark's message, with the source type, the target type and the column in this order since Spark 3.3."""


@contextmanager
def naming_overflow(table: str, version: int) -> Iterator[None]:
    """Within the block, raise bayou's error for a value that does not fit its column's type.

    Raises:
        CastOverflowError: a new value does not fit.
    """
    try:
        yield
    except DeltaError:  # which may be a PySpark exception too
        raise
    except Exception as error:
        found = _overflow_in(error) if is_failed_call(error) else None
        if found is None:
            raise
        raise failed(
            "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
            table=table,
            version=version,
            column=found["column"],
            source_type=found["given"],
            target_type=found["wanted"],
        ) from error


def _overflow_in(error: Exception) -> re.Match[str] | None:
    for text in messages_of(error):
        found = _OVERFLOW.search(text)
        if found is not None:
            return found
    return None
