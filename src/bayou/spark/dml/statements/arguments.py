# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of `DeltaTable` and its MERGE builder. The messages are the same as in delta-spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_condition_type(condition: Any) -> None:
    """Raise TypeError if a condition is neither SQL, nor a column, nor None."""
    if condition is not None and not isinstance(condition, (str, Column)):
        raise TypeError(
            f"'condition' must be a Spark SQL Column or a string (expression in SQL syntax), found to be of type {type(condition)}"
        )


def checked_values(values: Any, name: str) -> Mapping[str, Any]:
    """Return the new values by column, each as SQL or as a column.

    Args:
        name: the name of the argument, for messages.

    Raises:
        ValueError: the argument is None.
        TypeError: it is not a dict of strings or columns by strings.
    """
    if values is None:
        raise ValueError(f"{name} cannot be None")
    if not isinstance(values, dict):
        raise TypeError(f"{name} must be a dict, found to be {type(values)}")
    for key, value in values.items():
        if not isinstance(key, str):
            raise TypeError(
                f"Keys of dict in {name} must contain only strings with column names, found '{key}' of type '{type(key)}"
            )
        if not isinstance(value, (str, Column)):
            raise TypeError(
                f"Values of dict in {name} must contain only Spark SQL Columns or strings (expressions in SQL syntax) as values, "
                f"found '{value}' of type '{type(value)}'. Next: Write the value as SQL in quotes, or as a column with lit(...)."
            )
    return dict(values)
