# SPDX-License-Identifier: Apache-2.0
"""Find the running application of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from pyspark import SparkContext


def running_context() -> SparkContext | None:
    """Return the context of this process's application; None if no application runs, or if PySpark is only its Connect client."""
    kind = getattr(pyspark, "SparkContext", None)
    # No public call asks without creating a context.
    return None if kind is None else kind._active_spark_context  # noqa: SLF001
