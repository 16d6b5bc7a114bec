# SPDX-License-Identifier: Apache-2.0
"""Jobs that fail while they write a table's files: the file system's error, or a value without a place, as one sentence.

Spark wraps what a task throws, and the text holds the traces of the task and of the driver.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from bayou.errors import DeltaError, StorageError
from bayou.spark.errors import causes
from bayou.spark.jvm.write_traces import is_failed_write
from bayou.spark.partitioning import refused_value

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST: Final = 300


@contextmanager
def naming_failure(table: str, version: int | None) -> Iterator[None]:
    """Within it, a job that cannot write its files raises an error of bayou's.

    Args:
        table: the table's URI.
        version: its version before the write; None for a table that the write makes.

    Raises:
        StorageError: a file or a folder cannot be created or written.
        SchemaMismatchError: a partition value has no text.
    """
    try:
        yield
    except DeltaError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        found = _named(error, table, version)
        if found is None:
            raise
        raise found from error


def _named(error: PySparkException | Py4JJavaError, table: str, version: int | None) -> DeltaError | None:
    thrown = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    chain = list(causes(thrown))
    for text in (str(error), *(cause.getMessage() or "" for cause in chain)):
        refused = refused_value(text, table=table, version=version)
        if refused is not None:
            return refused
    for cause in reversed(chain):
        if is_failed_write(cause):
            reason = f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
            return StorageError(
                f"The files of the write cannot be created under {table}: {_short(reason)}",
                table=table,
                version=version,
                next_step="check that the folder is there and may be written, and that no partition value is longer than the name "
                "of a folder may be.",
                path=table,
                reason=reason,
            )
    return None


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= _MOST else f"{line[:_MOST]}..."
