# SPDX-License-Identifier: Apache-2.0
"""Check the rules that every row of a write obeys, in the job that writes the rows.

The job computes one of the columns as `if(rules, column, raise_error(...))`, so that a row which violates a rule fails the job
before a file is complete. Only then a second job counts the rows that violate the rules, and collects some of them for the error.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.constraint_violations import MAX_ROWS, violation
from bayou.protocol.types.sql_text import column_sql, parenthesised, quoted_name
from bayou.spark.jvm.catalyst.frames import names_of
from bayou.spark.jvm.catalyst.wide_columns import select
from bayou.spark.jvm.core.exceptions import causes, message_of, thrown_by
from bayou.spark.jvm.relations.own_sql import own_column
from bayou.spark.types.char_columns import declared_as_chars
from bayou.spark.types.types import contains_void

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.protocol.columns.constraints import Constraint
    from bayou.protocol.types.schema import StructType
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.jvm.core.bridge import Jvm

REPLACE_WHERE = "replaceWhere"
"""The name of the rule for the new rows of an overwrite by `replaceWhere`."""
_MOST_CHARACTERS: Final = 2000
_MARK: Final = "bayou.violation"
_FAILED: Final = re.compile(rf"{_MARK} (\d+:.*?) {_MARK}", re.DOTALL)


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
    """The rows of a write that break one or more rules.

    Attributes:
        count: the number of these rows.
        rows: some of them, each with the number of the first rule that it breaks, counted from zero.
    """

    count: int
    rows: tuple[tuple[int, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a write, and the rules that they must obey.

    Attributes:
        frame: the rows before they are checked, under the table's logical names.
        rules: the rules, in the order in which an error names them.
        unless: a SQL condition on rows that need not obey the rules; it is never NULL.
    """

    frame: DataFrame
    rules: Sequence[RowRule]
    target: WriteTarget
    unless: str | None = None

    def failing(self, jvm: Jvm) -> DataFrame:
        """Return the rows so that a job which writes them fails at a row that violates a rule."""
        if not self.rules:
            return self.frame
        spark, names = self.frame.sparkSession, names_of(self.frame)
        # The check is part of a column that is written. Spark removes a filter or an observation if it sees that there are no
        # rows, and moves a filter below a join, to rows that the write does not have.
        checked = own_column(spark, quoted_name(names[0]))
        for number, rule in reversed(list(enumerate(self.rules))):
            failure = own_column(spark, f"raise_error(concat('{_MARK} {number}:', {self._shown(rule)}, ' {_MARK}'))")
            checked = F.when(_holds(spark, rule), checked).otherwise(failure)
        if self.unless is not None:
            checked = F.when(own_column(spark, self.unless), own_column(spark, quoted_name(names[0]))).otherwise(checked)
        return select(jvm, self.frame, [checked.alias(names[0]), *((name,) for name in names[1:])])

    @contextmanager
    def naming_violation(self) -> Iterator[None]:
        """Within the block, raise the error of the rule that a job failed for.

        Raises:
            ConstraintViolationError: a row violates a rule.
        """
        try:
            yield
        except DeltaError:
            raise
        except (PySparkException, Py4JJavaError) as error:
            row = _failed_row(error) if self.rules else None
            if row is None:
                raise
            found = self._all_violations() or violations(1, [row])
            raise error_of(found, self.rules, table=self.target.table_uri, version=self.target.version) from None

    def _all_violations(self) -> Violations | None:
        """Return the rows that violate the rules; None if they cannot be computed again, or differ then."""
        try:
            found = violations_in(self.frame, self.rules, self.target.schema, unless=self.unless)
        except (PySparkException, Py4JJavaError):
            return None
        return found if found.count else None

    def _shown(self, rule: RowRule) -> str:
        return f"substring({_shown(rule, self.target.schema)}, 1, {_MOST_CHARACTERS})"


def _failed_row(error: PySparkException | Py4JJavaError) -> str | None:
    """Return the row that made a job fail, in the form of `violations`; None if the error has another reason."""
    for text in (*map(message_of, causes(thrown_by(error))), str(error)):
        found = _FAILED.search(text)
        if found is not None:
            return found[1]
    return None


def violations_in(frame: DataFrame, rules: Sequence[RowRule], schema: StructType, *, unless: str | None = None) -> Violations:
    """Return the rows that violate rules, in one job.

    Args:
        frame: the rows, under the table's logical names; columns that no rule shows need not be among them.
        rules: the rules, in the order in which an error names them.
        unless: a SQL condition on rows that need not obey the rules; it is never NULL.
    """
    frame = declared_as_chars(frame, schema)
    count, *texts = frame.agg(*_aggregates(frame.sparkSession, rules, schema, unless)).collect()[0]
    return violations(count, texts)


def _aggregates(spark: SparkSession, rules: Sequence[RowRule], schema: StructType, unless: str | None) -> list[Column]:
    """Return aggregates that count the rows which break a rule, and choose up to four of them to show.

    These are the least and the greatest row as a string, the least if read from its end, and one at random: the one with the
    greatest hash.
    """
    # `held` is in all aggregates, so Spark evaluates it once for each row; the rest is only evaluated for rows that break a rule.
    # Each rule is parsed separately: after the word `array` or `struct` Spark reads `>>` as the end of a type.
    holds = [_holds(spark, rule) for rule in rules]
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

    with_greatest_hash = F.max(of_broken(F.concat(F.lpad(F.hex(F.xxhash64(text)), 16, "0"), text)))
    aggregates = {
        "count": F.count(of_broken(F.lit(1))),
        "least": F.min(of_broken(text)),
        "greatest": F.max(of_broken(text)),
        "least_reversed": F.reverse(F.min(of_broken(F.reverse(text)))),
        "random": F.substring(with_greatest_hash, 17, _MOST_CHARACTERS),
    }
    return [each.alias(name) for name, each in aggregates.items()]


def _holds(spark: SparkSession, rule: RowRule) -> Column:
    """Return whether a row satisfies a rule, as a column that is never NULL."""
    text = parenthesised(rule.constraint.expression)
    return F.coalesce(own_column(spark, text) if rule.is_stored else F.expr(text), F.lit(False))


def violations(count: int | None, texts: Sequence[str | None]) -> Violations:
    """Return the violations that aggregates found. Each string is the number of a rule, a colon, and a row as JSON."""
    rows = []
    for text in dict.fromkeys(each for each in texts if each is not None):
        number, _, row = text.partition(":")
        rows.append((int(number), _row(row)))
    return Violations(count or 0, tuple(rows))


def _row(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:  # the JSON is longer than `_MOST_CHARACTERS` and was truncated
        return {"row": text}
    return found if isinstance(found, dict) else {"row": text}


def _shown(rule: RowRule, schema: StructType) -> str:
    """Return the SQL of what an error shows of a row, as JSON. JSON cannot represent a void type, so such columns are left out."""
    fields = [schema.field(name) for name in rule.columns]
    members = [column_sql((field.name,)) for field in fields if field is not None and not contains_void(field.type)]
    return f"to_json(struct({', '.join(members)}), map('ignoreNullFields', 'false'))" if members else "'{}'"


def error_of(found: Violations, rules: Sequence[RowRule], *, table: str, version: int | None) -> DeltaError:
    """Return the error for violations. It names the first rule that a row breaks, and shows only the rows that break this rule."""
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
