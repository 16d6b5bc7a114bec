# SPDX-License-Identifier: Apache-2.0
"""Run an operation on a table with a progress line, a handler for Ctrl-C, and job descriptions in Spark's user interface.

The jobs run in the caller's job group and pool, and keep the caller's tags.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from bayou.spark.backend import is_of_connect
from bayou.spark.session.interrupts import interruptible
from bayou.spark.session.progress import displayed, phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_DESCRIPTION: Final = "spark.job.description"


@contextlib.contextmanager
def operation(name: str, spark: SparkSession, settings: Mapping[str, str], table: str, *, closes: bool = True) -> Iterator[None]:
    """Let Ctrl-C end the operation before its commit, and show its progress on a terminal if it takes long.

    An operation inside another one is a part of that one, without a separate line.

    Args:
        name: the operation, as in the history.
        spark: the session.
        settings: the settings of the session.
        table: the table's name in the catalog, or its path without secrets.
        closes: whether a closing line follows. The planning of an operation leaves it to the operation.
    """
    if is_of_connect(spark):
        yield
        return
    with interruptible(spark), displayed(f"{name} {_short(table)}", spark, settings, closes=closes):
        yield


@contextlib.contextmanager
def log_operation(name: str, step: str, spark: SparkSession, settings: Mapping[str, str], table: str) -> Iterator[None]:
    """Show the progress of an operation with one step, which runs no job. Ctrl-C ends it as any call of Python.

    Args:
        name: the operation, as in the history.
        step: the name of its only step.
        spark: the session.
        settings: the settings of the session.
        table: the table's name in the catalog, or its path without secrets.
    """
    with displayed(f"{name} {_short(table)}", spark, settings):
        phase(step)
        yield


@contextlib.contextmanager
def described_jobs(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs of this thread within the block, after the caller's own description. The text must not contain secrets."""
    if is_of_connect(spark):
        yield
        return
    context = spark.sparkContext
    description = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, f"{description}: {text}" if description else text)
    try:
        yield
    finally:
        # None removes the property.
        context.setLocalProperty(_DESCRIPTION, description)  # type: ignore[arg-type]


def bins_text(first: int, last: int, count: int) -> str:
    """Return a text for the bins `first` (from 0) to `last` (exclusive) of `count`, as in `bins 1 to 4 of 9`."""
    return f"bin {last} of {count}" if last == first + 1 else f"bins {first + 1} to {last} of {count}"


def _short(table: str) -> str:
    """Return the last part of a path: a line has no room for all of it."""
    return table.rstrip("/").rpartition("/")[2]
