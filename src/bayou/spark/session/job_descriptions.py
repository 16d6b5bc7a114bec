# SPDX-License-Identifier: Apache-2.0
"""The jobs of an operation: what Spark's user interface says of them, and how they are stopped.

They run in the caller's job group and pool, and keep the caller's tags. bayou adds one tag.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from bayou.spark.session.interrupts import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from bayou.spark.session.interrupts import Jobs

_DESCRIPTION: Final = "spark.job.description"


@contextlib.contextmanager
def described_jobs(spark: SparkSession, text: str) -> Iterator[Jobs]:
    """Within it, the jobs of this thread have a description, and Ctrl-C stops them.

    A description that the caller set stays before this one.

    Args:
        spark: the session.
        text: the description, without secrets.
    """
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, f"{before}: {text}" if before else text)
    try:
        with interruptible(context) as jobs:
            yield jobs
    finally:
        # None takes it away.
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


def bins_text(first: int, last: int, count: int) -> str:
    """Which bins of how many are written; the first one has the number 0, and the last one is the one before `last`."""
    return f"bin {last} of {count}" if last == first + 1 else f"bins {first + 1} to {last} of {count}"
