# SPDX-License-Identifier: Apache-2.0
"""Evaluate the rules for the rows of a write, in the job that writes the rows.

One observation evaluates all rules. Its aggregates count the rows that break a rule, and keep at most four of them, each with the
number of the first rule that it breaks. The result is checked before the commit. Rules that the footers of the new files prove
(`proven_constraints`) are not evaluated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.constraint_violations import MAX_ROWS, violation
from bayou.protocol.types.sql_text import column_sql, parenthesised
from bayou.spark.backend import backend_of
from bayou.spark.types.char_columns import declared_as_chars
from bayou.spark.types.types import contains_void

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import DeltaError
    from bayou.protocol.columns.constraints import Constraint
    from bayou.protocol.types.schema import StructType

OBSERVATION = "bayou.rules"
"""The name of the observation; one write has one."""
REPLACE_WHERE = "replaceWhere"
"""The name of the rule for the new rows of an overwrite by `replaceWhere`."""
_MOST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class RowRule:
    """A condition that must be true for each row. NULL breaks it just as false does.

    Attributes:
        constraint: the constraint, with its SQL condition over the table's logical columns.
        columns: the top-level columns whose values an error shows.
        is_stored: whether the table stores the condition. Otherwise it is a user's SQL, for the session's parser.
    """

    constraint: Constraint
    columns: tuple[str, ...]
    is_stored: bool = True


@dataclass(frozen=True, slots=True)
class Violations:
    """The rows that break a rule.

    Attributes:
        count: the number of rows that break a rule.
        rows: some of them, each with the number of the first rule that it breaks, counted from zero.
    """

    count: int
    rows: tuple[tuple[int, Mapping[str, Any]], ...]


def observing(frame: DataFrame, rules: Sequence[RowRule], schema: StructType, *, unless: str | None = None) -> DataFrame:
    """Return the rows with an observation of those that break a rule; the unchanged rows without rules.

    Args:
        frame: the rows, under the table's logical names.
        rules: the rules; an error reports the first one that is broken.
        unless: a SQL condition, never NULL, for rows to which the rules do not apply.
    """
    if not rules:
        return frame
    spark = frame.sparkSession
    return backend_of(spark).observe(frame, OBSERVATION, _aggregates(spark, rules, schema, unless))


def violations_in(frame: DataFrame, rules: Sequence[RowRule], schema: StructType) -> Violations:
    """Return the rows that break a rule, in one job.

    Args:
        frame: the rows, under the table's logical names, with at least the columns that rules show.
        rules: the rules; an error reports the first one that is broken.
    """
    frame = declared_as_chars(frame, schema)
    return observed_violations(list(frame.agg(*_aggregates(frame.sparkSession, rules, schema)).collect()[0]))


def counts_of(frame: DataFrame, rules: Sequence[RowRule]) -> list[int]:
    """Return the number of rows that break each rule, in one query; read no rows without rules.

    Args:
        frame: the rows, under the table's logical names.
        rules: the rules.
    """
    if not rules:
        return []
    broken = [~F.coalesce(condition_of(frame.sparkSession, rule), F.lit(False)) for rule in rules]
    counts = [F.count(F.when(each, F.lit(1))).alias(f"rule{number}") for number, each in enumerate(broken)]
    return [int(each) for each in frame.agg(*counts).collect()[0]]


def _aggregates(spark: SparkSession, rules: Sequence[RowRule], schema: StructType, unless: str | None = None) -> list[Column]:
    """Return aggregates that count the rows which break a rule, and choose up to four of them to show.

    These are the least and the greatest row as a string, the least if read from its end, and one at random: the one with the
    greatest hash.
    """
    # `held` is in all aggregates, so Spark evaluates it once for each row; the rest is only evaluated for rows that break a rule.
    # Each rule is parsed separately: after the word `array` or `struct` Spark reads `>>` as the end of a type.
    holds = [F.coalesce(condition_of(spark, rule), F.lit(False)) for rule in rules]
    held = reduce(Column.__and__, holds)
    if unless is not None:
        held = backend_of(spark).own_column(spark, unless) | held
    broken = [
        F.when(~condition, F.concat(F.lit(f"{number}:"), backend_of(spark).own_column(spark, _shown(rules[number], schema))))
        for number, condition in enumerate(holds)
    ]
    text = F.substring(F.coalesce(*broken), 1, _MOST_CHARACTERS)

    def of_broken(value: Column) -> Column:
        return F.when(held, F.lit(None)).otherwise(value)

    with_greatest_hash = F.max(of_broken(F.concat(F.lpad(F.hex(F.xxhash64(text)), 16, "0"), text)))
    aggregates = {
        "count": F.count(of_broken(F.lit(1))),
        "least": F.min(of_broken(text)),
        "greatest": F.max(of_broken(text)),
        "least_reversed": F.reverse(F.min(of_broken(F.reverse(text)))),
        "random": F.substring(with_greatest_hash, 17, _MOST_CHARACTERS),
    }
    return [aggregate.alias(name) for name, aggregate in aggregates.items()]


def condition_of(spark: SparkSession, rule: RowRule) -> Column:
    """Return a rule's condition as a column."""
    text = parenthesised(rule.constraint.expression)
    return backend_of(spark).own_column(spark, text) if rule.is_stored else F.expr(text)


def observed_violations(observed: Sequence[Any]) -> Violations:
    """Parse the observation of a finished job.

    Args:
        observed: the values of its aggregates; empty if Spark left the observation out since it found no rows.
    """
    count, *texts = observed or (0,)
    rows = []
    for text in dict.fromkeys(row_text for row_text in texts if row_text is not None):
        number, _, row = text.partition(":")
        rows.append((int(number), _row(row)))
    return Violations(count or 0, tuple(rows))


def _row(text: str) -> Mapping[str, Any]:
    try:
        values = json.loads(text)
    except ValueError:  # cut off
        return {"row": text}
    return values if isinstance(values, dict) else {"row": text}


def _shown(rule: RowRule, schema: StructType) -> str:
    fields = [schema.field(name) for name in rule.columns]
    members = [column_sql((field.name,)) for field in fields if field is not None and not contains_void(field.type)]
    return f"to_json(struct({', '.join(members)}), map('ignoreNullFields', 'false'))" if members else "'{}'"


def error_of(found: Violations, rules: Sequence[RowRule], *, table: str, version: int | None) -> DeltaError:
    """Return the error for the first rule that the rows break."""
    number = min((number for number, _ in found.rows), default=0)
    rows = [row for broken, row in found.rows if broken == number]
    constraint = rules[number].constraint
    if constraint.name != REPLACE_WHERE:
        return violation(constraint, rows, num_violations=found.count, table=table, version=version)
    shown = "; ".join(", ".join(f"{name} = {value}" for name, value in row.items()) for row in rows[:MAX_ROWS])
    return failed(
        "DELTA_REPLACE_WHERE_MISMATCH",
        table=table,
        version=version,
        shown=shown,
        constraint=constraint.name,
        expression=constraint.expression,
        column=(),
        rows=rows[:MAX_ROWS],
        num_violations=found.count,
    )
