# SPDX-License-Identifier: Apache-2.0
"""Spark's own progress bar on the terminal (`spark.ui.showConsoleProgress`, which is on in plain scripts)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject


class ConsoleBar:
    """The bar of the application that a session belongs to, which must have one."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def clear(self) -> None:
        """Erases the bar. Spark draws it again after half a second at the earliest, if stages are running then.

        Spark does the same after each job. Called more often than that, it keeps the bar away, and it changes no setting.

        Source: `finishAll` and `firstDelayMSec` of Spark's class `ConsoleProgressBar`, the same from Spark 3.5 to 4.3.
        """
        self._bar.finishAll()

    @cached_property
    def _bar(self) -> JavaObject:
        return self._context._jsc.sc().progressBar().get()  # noqa: SLF001  (the bridge)
