# SPDX-License-Identifier: Apache-2.0
"""An operation on a table: how it is shown and stopped, and what Spark's user interface says of its jobs.

The jobs run in the caller's job group and pool, and keep the caller's tags.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from bayou.spark.session.interrupts import interruptible
from bayou.spark.session.progress import displayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_DESCRIPTION: Final = "spark.job.description"


@contextlib.contextmanager
def operation(name: str, spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Within it, Ctrl-C ends the operation before its commit; if it takes long and somebody looks, a line shows what it does.

    An operation inside of another is part of that one.
    """
    with interruptible(spark), displayed(name, spark, settings):
        yield


@contextlib.contextmanager
def described_jobs(spark: SparkSession, text: str) -> Iterator[None]:
    """Within it, the jobs of this thread have a description.

    A description that the caller set stays before this one.

    Args:
        text: the description, without secrets.
    """
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, f"{before}: {text}" if before else text)
    try:
        yield
    finally:
        # None takes it away.
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


def bins_text(first: int, last: int, count: int) -> str:
    """Which bins of how many are written; the first one has the number 0, and the last one is the one before `last`."""
    return f"bin {last} of {count}" if last == first + 1 else f"bins {first + 1} to {last} of {count}"
