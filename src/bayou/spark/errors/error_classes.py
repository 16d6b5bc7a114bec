# SPDX-License-Identifier: Apache-2.0
"""Read the error class of an error of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException


def error_class_of(error: AnalysisException) -> str:
    """Return the error class of an error of Spark, or an empty string. Spark versions name the method differently."""
    condition = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return condition or ""
