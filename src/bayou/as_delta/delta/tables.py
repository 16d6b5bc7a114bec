# SPDX-License-Identifier: Apache-2.0
"""`delta.tables`: delta-spark's classes, and every other name that `from delta.tables import *` imports.

delta-spark's module has no `__all__`, so programs may use what it happens to import.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Tuple, Union, cast, overload  # noqa: UP035

from pyspark import since
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DataType, StructField, StructType
from pyspark.sql.utils import is_remote

from bayou.as_delta import delta
from bayou.as_delta.delta._typing import (
    ColumnMapping,
    ExpressionOrColumn,
    OptionalColumnMapping,
    OptionalExpressionOrColumn,
)
from bayou.spark.dml.merge.builder import DeltaMergeBuilder
from bayou.spark.table.optimize import DeltaOptimizeBuilder
from bayou.table import DeltaTable, DeltaTableBuilder, IdentityGenerator

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "Column",
    "ColumnMapping",
    "DataFrame",
    "DataType",
    "DeltaMergeBuilder",
    "DeltaOptimizeBuilder",
    "DeltaTable",
    "DeltaTableBuilder",
    "Dict",
    "ExpressionOrColumn",
    "IdentityGenerator",
    "Iterable",
    "List",
    "NoReturn",
    "Optional",
    "OptionalColumnMapping",
    "OptionalExpressionOrColumn",
    "SparkSession",
    "StructField",
    "StructType",
    "Tuple",
    "Union",
    "cast",
    "dataclass",
    "delta",
    "functions",
    "is_remote",
    "overload",
    "since",
]
