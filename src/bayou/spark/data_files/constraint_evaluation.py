# SPDX-License-Identifier: Apache-2.0
"""Rules that every row of a write obeys, checked by the job that writes the rows.

The rules ride along as one observation: an integer tells which rule a row breaks first, and aggregates count the rows that
break one and keep a handful of them, however many there are. Nothing is committed until they have been looked at. Rules that
the footers of the new files prove (`proven_constraints`) are no part of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import ConstraintViolationError
from bayou.protocol.columns.constraint_violations import MAX_ROWS, violation
from bayou.protocol.types.sql_text import column_sql, parenthesised
from bayou.spark.jvm.relations.own_sql import own_column
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
"""The name of the rule that the rows of a write obey which replaces rows by a condition."""
_MOST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class RowRule:
    """A condition that must be true of a row; NULL breaks it as false does.

    Attributes:
        constraint: the rule, with its SQL condition over the table's logical columns.
        columns: the top-level columns whose values an error shows.
        is_stored: whether the table has it; else it is a user's SQL, which the session's parser reads.
    """

    constraint: Constraint
    columns: tuple[str, ...]
    is_stored: bool = True


@dataclass(frozen=True, slots=True)
class Violations:
    """What a write found against its rules.

    Attributes:
        count: how many rows broke a rule.
        rows: some of them, each with the number of the rule that it broke first, counted from zero.
    """

    count: int
    rows: tuple[tuple[int, Mapping[str, Any]], ...]


def observing(frame: DataFrame, rules: Sequence[RowRule], schema: StructType, *, unless: str | None = None) -> DataFrame:
    """The rows with an observation of those that break a rule; as they are where there is none.

    Args:
        frame: the rows, under the table's logical names.
        rules: the rules, in the order in which they are told.
        unless: a SQL condition on the rows to which the rules do not apply; it is never NULL.
    """
    return frame.observe(OBSERVATION, *_aggregates(frame.sparkSession, rules, schema, unless)) if rules else frame


def violations_in(frame: DataFrame, rules: Sequence[RowRule], schema: StructType) -> Violations:
    """What rows that are there have against rules, in one job.

    Args:
        frame: the rows, under the table's logical names; columns that no rule shows need not be among them.
        rules: the rules, in the order in which they are told.
    """
    frame = declared_as_chars(frame, schema)
    return observed_violations(list(frame.agg(*_aggregates(frame.sparkSession, rules, schema)).collect()[0]))


def _aggregates(spark: SparkSession, rules: Sequence[RowRule], schema: StructType, unless: str | None = None) -> list[Column]:
    # Spark evaluates what always is evaluated, and stands in several aggregates, once for a row: so it is one condition that
    # every row pays for, and the rest is for rows that break it. Each rule is parsed by itself: behind the word `array` or
    # `struct` of another one Spark reads `>>` as the end of a type.
    holds = [F.coalesce(_condition(spark, rule), F.lit(False)) for rule in rules]
    held = reduce(Column.__and__, holds)
    if unless is not None:
        held = own_column(spark, unless) | held
    broken = [
        F.when(~each, F.concat(F.lit(f"{number}:"), own_column(spark, _shown(rules[number], schema))))
        for number, each in enumerate(holds)
    ]
    text = F.substring(F.coalesce(*broken), 1, _MOST_CHARACTERS)

    def of_broken(value: Column) -> Column:
        return F.when(held, F.lit(None)).otherwise(value)

    by_chance = F.max(of_broken(F.concat(F.lpad(F.hex(F.xxhash64(text)), 16, "0"), text)))
    aggregates = {
        "count": F.count(of_broken(F.lit(1))),
        "least": F.min(of_broken(text)),
        "greatest": F.max(of_broken(text)),
        "least_reversed": F.reverse(F.min(of_broken(F.reverse(text)))),
        "by_chance": F.substring(by_chance, 17, _MOST_CHARACTERS),
    }
    return [each.alias(name) for name, each in aggregates.items()]


def _condition(spark: SparkSession, rule: RowRule) -> Column:
    text = parenthesised(rule.constraint.expression)
    return own_column(spark, text) if rule.is_stored else F.expr(text)


def observed_violations(observed: Sequence[Any]) -> Violations:
    """What the observation of a finished job says.

    Args:
        observed: the values of its aggregates; none where Spark left the rows out, because it saw that there are none.
    """
    if not observed:
        return violations(0, ())
    count, *texts = observed
    return violations(count, texts)


def violations(count: int | None, texts: Sequence[str | None]) -> Violations:
    """Rows that broke a rule, out of what aggregates say of them.

    Args:
        texts: some of them, each behind the number of its rule.
    """
    rows = []
    for text in dict.fromkeys(each for each in texts if each is not None):
        number, _, row = text.partition(":")
        rows.append((int(number), _row(row)))
    return Violations(count or 0, tuple(rows))


def _row(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:  # cut off
        return {"row": text}
    return found if isinstance(found, dict) else {"row": text}


def _shown(rule: RowRule, schema: StructType) -> str:
    fields = [schema.field(name) for name in rule.columns]
    members = [column_sql((field.name,)) for field in fields if field is not None and not contains_void(field.type)]
    return f"to_json(struct({', '.join(members)}), map('ignoreNullFields', 'false'))" if members else "'{}'"


def error_of(found: Violations, rules: Sequence[RowRule], *, table: str, version: int | None) -> DeltaError:
    """The error of a write whose rows broke a rule: the first rule of those that the kept rows broke."""
    number = min((number for number, _ in found.rows), default=0)
    rows = [row for broken, row in found.rows if broken == number]
    constraint = rules[number].constraint
    if constraint.name != REPLACE_WHERE:
        return violation(constraint, rows, num_violations=found.count, table=table, version=version)
    shown = "; ".join(", ".join(f"{name} = {value}" for name, value in row.items()) for row in rows[:MAX_ROWS])
    return ConstraintViolationError(
        f"Written data does not conform to partial table overwrite condition or constraint '{constraint.expression}'. "
        f"Rows that do not: {found.count}, for example {shown}.",
        table=table,
        version=version,
        error_class="DELTA_REPLACE_WHERE_MISMATCH",
        next_step="leave these rows out, or widen the condition.",
        constraint=constraint.name,
        expression=constraint.expression,
        column=(),
        rows=rows[:MAX_ROWS],
        num_violations=found.count,
    )
