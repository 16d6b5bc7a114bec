# SPDX-License-Identifier: Apache-2.0
"""Operations on the rows of a table that a seed, a writer and a number say: what Spark is asked for, and what becomes of the rows.

Many of them are about the same rows and files, and they do not commute: in another order, other rows are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import bayou
from bayou.errors import ConcurrentModificationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = Mapping[int, int]
"""The rows of a table: the value `v` of each `id`."""
Change = tuple[str, int, int]
"""A row of the change data feed: its kind, `id` and `v`."""

KEYS = 40
"""A table begins with the rows 0 to 39, each with its id as the value; appends have other ids."""
MODULUS = 1009
_APPENDED = 4
_MATCHED = "update_preimage", "update_postimage"


@dataclass(frozen=True)
class Where:
    """Which rows are meant, for Spark and for the model."""

    sql: str
    holds: Callable[[int, int], bool]


@dataclass(frozen=True)
class Append:
    """New rows, written without a look at the table."""

    ids: range

    def changes(self, rows: Rows) -> list[Change]:
        assert not set(self.ids) & rows.keys()
        return [("insert", key, key % 11) for key in self.ids]

    def run(self, spark: SparkSession, path: str, txn: tuple[str, int]) -> Any:
        new = spark.range(self.ids.start, self.ids.stop, numPartitions=1).selectExpr("id", "id % 11 v")
        return bayou.write(new, path, mode="append", txn=txn)


@dataclass(frozen=True)
class Delete:
    """DELETE FROM t WHERE ..."""

    where: Where

    def changes(self, rows: Rows) -> list[Change]:
        return [("delete", key, value) for key, value in rows.items() if self.where.holds(key, value)]

    def run(self, spark: SparkSession, path: str, txn: tuple[str, int]) -> Any:
        return bayou.DeltaTable.forPath(spark, path).delete(self.where.sql, txn=txn)


@dataclass(frozen=True)
class Update:
    """UPDATE t SET v = 3 * v + digit; without a condition all files become one."""

    where: Where | None
    digit: int

    def changes(self, rows: Rows) -> list[Change]:
        found = [(key, value) for key, value in rows.items() if self.where is None or self.where.holds(key, value)]
        return [change for key, value in found for change in _updated(key, value, (3 * value + self.digit) % MODULUS)]

    def run(self, spark: SparkSession, path: str, txn: tuple[str, int]) -> Any:
        table = bayou.DeltaTable.forPath(spark, path)
        sql = None if self.where is None else self.where.sql
        return table.update(sql, {"v": f"(3 * v + {self.digit}) % {MODULUS}"}, txn=txn)


@dataclass(frozen=True)
class Merge:
    """MERGE: rows of the source's ids are deleted where its value is a multiple of 3, else updated; others are inserted.

    Attributes:
        source: the source's rows.
        inserts_only: whether rows that match stay as they are.
        others: which rows are deleted of those that match nothing; none where None.
    """

    source: Rows
    inserts_only: bool = False
    others: Where | None = None

    def changes(self, rows: Rows) -> list[Change]:
        found: list[Change] = [("insert", key, new) for key, new in self.source.items() if key not in rows]
        if self.inserts_only:
            return found
        for key, value in rows.items():
            if key not in self.source:
                found += [("delete", key, value)] if self.others is not None and self.others.holds(key, value) else []
            elif self.source[key] % 3 == 0:
                found.append(("delete", key, value))
            else:
                found += _updated(key, value, (5 * value + self.source[key]) % MODULUS)
        return found

    def run(self, spark: SparkSession, path: str, txn: tuple[str, int]) -> Any:
        values = ", ".join(f"({key}L, {value}L)" for key, value in self.source.items())
        source = spark.sql(f"select * from values {values} as source(id, v)").alias("s")
        merge = bayou.DeltaTable.forPath(spark, path).alias("t").merge(source, "t.id = s.id", txn=txn).whenNotMatchedInsertAll()
        if not self.inserts_only:
            merge = merge.whenMatchedDelete("s.v % 3 = 0").whenMatchedUpdate(set={"v": f"(5 * t.v + s.v) % {MODULUS}"})
            merge = merge if self.others is None else merge.whenNotMatchedBySourceDelete(self.others.sql)
        return merge.execute()


@dataclass(frozen=True)
class Replace:
    """An overwrite: new rows in the place of those that a condition is true for."""

    where: Where
    new: Rows

    def changes(self, rows: Rows) -> list[Change]:
        gone: list[Change] = [("delete", key, value) for key, value in rows.items() if self.where.holds(key, value)]
        return [*gone, *(("insert", key, value) for key, value in self.new.items())]

    def run(self, spark: SparkSession, path: str, txn: tuple[str, int]) -> Any:
        values = ", ".join(f"({key}L, {value}L)" for key, value in self.new.items())
        new = spark.sql(f"select * from values {values} as new(id, v)").coalesce(1)
        return bayou.write(new, path, mode="overwrite", txn=txn, replaceWhere=self.where.sql)


Operation = Append | Delete | Update | Merge | Replace


def _updated(key: int, before: int, after: int) -> Sequence[Change]:
    return [(kind, key, value) for kind, value in zip(_MATCHED, (before, after), strict=True)]


def drawn(seed: int, writer: int, number: int) -> Operation:
    """The operation of a writer that has a number."""
    random = Random(f"{seed} {writer} {number}")
    kind = random.choice(["append"] * 4 + ["delete"] * 4 + ["update"] * 5 + ["merge"] * 6 + ["replace"] * 3 + ["rewrite"])
    first = KEYS + (1000 * number + writer) * _APPENDED
    if kind == "replace":
        return _replace(random, first)
    if kind == "append":
        return Append(range(first, first + _APPENDED))
    if kind == "delete":
        return Delete(_where(random))
    if kind == "merge":
        source = {key: random.randrange(MODULUS) for key in random.sample(range(KEYS), random.randint(1, 8))}
        return Merge(source, random.random() < 0.2, _where(random) if random.random() < 0.2 else None)
    return Update(None if kind == "rewrite" else _where(random), random.randrange(10))


def _replace(random: Random, unused: int) -> Replace:
    """Rows for others, by their values or by their ids; `unused` is an id that no other operation gives to a row."""
    modulus = random.choice([5, 7, 9, 11])
    rest = random.randrange(modulus)
    by_value = Where(f"v % {modulus} = {rest}", lambda _, value: value % modulus == rest)
    first = random.randrange(KEYS)
    last = first + random.randint(0, 5)
    by_id = Where(f"id between {first} and {last}", lambda key, _: first <= key <= last)
    new = {key: random.randrange(MODULUS) for key in random.sample(range(first, last + 1), random.randint(1, last - first + 1))}
    return random.choice([Replace(by_value, {unused: rest, unused + 1: rest + modulus}), Replace(by_id, new)])


def _where(random: Random) -> Where:
    """A few rows of many files, by something that no operation changes or by something that others do change; or neighbours."""
    modulus = random.choice([5, 7, 9, 11])
    rest = random.randrange(modulus)
    first = random.randrange(KEYS)
    last = first + random.randint(0, 12)
    return random.choice(
        [
            Where(f"id % {modulus} = {rest}", lambda key, _: key % modulus == rest),
            Where(f"v % {modulus} = {rest}", lambda _, value: value % modulus == rest),
            Where(f"id between {first} and {last}", lambda key, _: first <= key <= last),
        ]
    )


def attempt(spark: SparkSession, path: str, seed: int, writer: int, number: int) -> tuple[str, int]:
    """Runs an operation; returns `committed` with the version, or `conflict`, `empty` or `replayed` with any."""
    try:
        result = drawn(seed, writer, number).run(spark, path, (f"writer-{writer}", number))
    except ConcurrentModificationError as error:
        return "conflict", error.conflicting_version or -1
    return ("committed" if result.committed else result.reason), result.version
