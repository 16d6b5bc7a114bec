# SPDX-License-Identifier: Apache-2.0
"""An assertion on the rows of tables. Spark compares; Python sees only the few rows that the message shows."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructField, StructType

from bayou.table import DeltaTable, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Rows: TypeAlias = "DataFrame | DeltaTable | str | os.PathLike[str] | Iterable[Any]"

SHOWN_ROWS = 10
"""How many rows of each kind a message shows."""
_LONGEST_VALUE = 80
_COPIES = "copies"


def assert_tables_equal(actual: Rows, expected: Rows, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Fail unless two tables have the same columns and the same rows.

    The order of rows and of columns does not matter. Each copy of a row counts. NULL equals NULL, and NaN equals NaN.

    Args:
        actual: The table to check: a DataFrame, a `DeltaTable`, or the path of a Delta table.
        expected: What it must hold: the same, or a list of rows in the order of the columns of `actual`.
        rtol: By which part of the expected value a FLOAT or DOUBLE may differ, for example `1e-6`.
        atol: By how much a FLOAT or DOUBLE may differ, in addition. Rows that agree in all other columns are compared in the order
            of their numbers.

    Raises:
        AssertionError: The tables differ. The message shows columns, values by column, missing rows and unexpected rows.
    """
    __tracebackhide__ = True
    found = _frame(actual)
    wanted = _frame(expected, found.schema)
    if problems := _differing_columns(found.schema, wanted.schema):
        raise AssertionError("\n  ".join(["the columns differ:", *problems]))
    wanted = wanted.select([wanted[f"`{name.replace('`', '``')}`"] for name in found.columns])
    comparison = _Comparison(found.schema, rtol, atol)
    differing = comparison.differing(found, wanted).persist()
    try:
        if message := _message(found.columns, differing):
            raise AssertionError(message)
    finally:
        differing.unpersist()


def _frame(rows: Rows, schema: StructType | None = None) -> DataFrame:
    if isinstance(rows, DataFrame):
        return rows
    if isinstance(rows, DeltaTable):
        return rows.toDF()
    spark = SparkSession.active()
    if isinstance(rows, str | os.PathLike):
        return read(spark, os.fspath(rows))
    assert schema is not None, "actual is a list; give it as expected"  # noqa: S101  (this is an assertion of a test)
    nullable = StructType([StructField(each.name, each.dataType) for each in schema])
    return spark.createDataFrame(list(rows), nullable)


def _differing_columns(found: StructType, wanted: StructType) -> list[str]:
    """Describe each column that only one side has, or that has another type there."""
    types, expected = ({each.name: each.dataType.simpleString() for each in side} for side in (found, wanted))
    twice = [name for side in (found, wanted) for name, count in Counter(side.names).items() if count > 1]
    return [
        *(f"{name}: there are several columns of this name" for name in twice),
        *(f"{name}: missing, expected {kind}" for name, kind in expected.items() if name not in types),
        *(f"{name}: {kind}, not expected" for name, kind in types.items() if name not in expected),
        *(f"{name}: {types[name]}, expected {kind}" for name, kind in expected.items() if types.get(name, kind) != kind),
    ]


class _Comparison:
    """Finds the rows that only one of two tables of the same columns has."""

    def __init__(self, schema: StructType, rtol: float, atol: float) -> None:
        self._types = [_normalized_type(each.dataType) for each in schema]
        self._schema = schema
        self._rtol = rtol
        self._atol = atol
        # Positions, because a name may hold anything.
        self._columns = [f"c{number}" for number in range(len(schema))]

    def differing(self, found: DataFrame, wanted: DataFrame) -> DataFrame:
        """Return the differing rows, with how many copies more (or fewer, below zero) the first table has."""
        sides = [self._normalized(found, 1), self._normalized(wanted, -1)]
        total = sides[0].unionAll(sides[1]).groupBy(*self._columns).agg(sf.sum(_COPIES).alias(_COPIES))
        exact = total.where(sf.col(_COPIES) != 0)
        return self._not_close(exact) if self._rtol or self._atol else exact

    def _normalized(self, frame: DataFrame, copies: int) -> DataFrame:
        renamed = frame.toDF(*self._columns)
        values = [
            _normalized(sf.col(name), field.dataType).alias(name) for name, field in zip(self._columns, self._schema, strict=True)
        ]
        return renamed.select(*values, sf.lit(copies).alias(_COPIES))

    def _not_close(self, exact: DataFrame) -> DataFrame:
        """Leave out the rows whose numbers are close to those of a row of the other table."""
        inexact = [name for name, kind in zip(self._columns, self._types, strict=True) if _has_floats(kind)]
        others = [name for name in self._columns if name not in inexact]
        if not inexact:
            return exact
        copies = sf.explode(sf.sequence(sf.lit(1), sf.abs(_COPIES).cast("int")))
        single = exact.select(*self._columns, sf.signum(_COPIES).cast("long").alias(_COPIES), copies.alias("copy"))
        order = Window.partitionBy(*others, _COPIES).orderBy(*inexact)
        numbered = single.withColumn("rank", sf.row_number().over(order))
        in_pair = Window.partitionBy(*others, "rank")
        both = [
            sf.first(sf.when(sf.col(_COPIES) == sign, sf.struct(*inexact)), ignorenulls=True).over(in_pair).alias(side)
            for sign, side in ((1, "found"), (-1, "wanted"))
        ]
        pairs = numbered.select(*self._columns, _COPIES, *both)
        close = sf.col("found").isNotNull() & sf.col("wanted").isNotNull()
        for name, kind in zip(self._columns, self._types, strict=True):
            if name in inexact:
                close = close & self._close(sf.col("found")[name], sf.col("wanted")[name], kind)
        left = pairs.where(~sf.coalesce(close, sf.lit(False)))
        return left.groupBy(*self._columns).agg(sf.sum(_COPIES).alias(_COPIES))

    def _close(self, found: Column, wanted: Column, kind: DataType) -> Column:
        """Whether two values are equal but for the tolerance of the numbers in them."""
        equal = found.eqNullSafe(wanted)
        if isinstance(kind, FloatType | DoubleType):
            found, wanted = found.cast("double"), wanted.cast("double")
            is_finite = sf.abs(wanted) < sf.lit(float("inf"))
            inner = is_finite & (sf.abs(found - wanted) <= self._atol + self._rtol * sf.abs(wanted))
        elif isinstance(kind, ArrayType):
            element = kind.elementType
            closes = sf.zip_with(found, wanted, lambda x, y: sf.coalesce(self._close(x, y, element), sf.lit(False)))
            inner = (sf.size(found) == sf.size(wanted)) & sf.forall(closes, lambda each: each)
        elif isinstance(kind, StructType):
            inner = found.isNotNull() & wanted.isNotNull()
            for field in kind:
                inner = inner & self._close(found[field.name], wanted[field.name], field.dataType)
        else:
            return equal
        return equal | sf.coalesce(inner, sf.lit(False))


def _normalized_type(kind: DataType) -> DataType:
    """Return the type of `_normalized`: an array of entries for each map."""
    if isinstance(kind, ArrayType):
        return ArrayType(_normalized_type(kind.elementType))
    if isinstance(kind, MapType):
        entry = [StructField("key", _normalized_type(kind.keyType)), StructField("value", _normalized_type(kind.valueType))]
        return ArrayType(StructType(entry))
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, _normalized_type(each.dataType)) for each in kind])
    return kind


def _normalized(value: Column, kind: DataType) -> Column:
    """Write maps as sorted arrays of their entries, because Spark neither groups nor sorts by a map."""
    if not _has_maps(kind):
        return value
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return sf.transform(value, lambda each: _normalized(each, element))
    if isinstance(kind, MapType):
        inner = kind.valueType
        entries = sf.transform(
            sf.map_entries(value),
            lambda each: sf.struct(each["key"].alias("key"), _normalized(each["value"], inner).alias("value")),
        )
        return sf.array_sort(entries)
    assert isinstance(kind, StructType)  # noqa: S101  (nothing else has values inside)
    fields = [_normalized(value[each.name], each.dataType).alias(each.name) for each in kind]
    return sf.when(value.isNotNull(), sf.struct(*fields))


def _has_maps(kind: DataType) -> bool:
    return isinstance(kind, MapType) or any(map(_has_maps, _inner(kind)))


def _has_floats(kind: DataType) -> bool:
    return isinstance(kind, FloatType | DoubleType) or any(map(_has_floats, _inner(kind)))


def _inner(kind: DataType) -> Sequence[DataType]:
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    if isinstance(kind, MapType):
        return [kind.keyType, kind.valueType]
    return [each.dataType for each in kind] if isinstance(kind, StructType) else []


def _message(names: Sequence[str], differing: DataFrame) -> str:
    """Describe the differing rows, or return an empty text if no row differs."""
    if not differing.take(1):
        return ""
    columns = [each for each in differing.columns if each != _COPIES]
    unexpected, missing = (differing.where(sf.col(_COPIES) * sign > 0) for sign in (1, -1))
    counts = [side.agg(sf.sum(sf.abs(_COPIES))).first()[0] or 0 for side in (missing, unexpected)]  # type: ignore[index]
    shown = [[tuple(row) for row in side.orderBy(*columns).limit(SHOWN_ROWS).collect()] for side in (missing, unexpected)]
    lines = [f"the rows differ: missing rows: {counts[0]}, unexpected rows: {counts[1]}"]
    changed = _paired(*([row[:-1] for row in side] for side in shown))
    if changed:
        lines.append("rows with other values:")
        lines += [f"  {_other_values(names, *pair)}" for pair in changed]
    for title, rows, count, place in (("missing", shown[0], counts[0], 0), ("unexpected", shown[1], counts[1], 1)):
        alone = [row for row in rows if row[:-1] not in [pair[place] for pair in changed]]
        lines += [f"{title}:"] * bool(alone) + [f"  {_row(names, row)}" for row in alone]
        if count > (known := sum(abs(row[-1]) for row in rows)):
            lines.append(f"  and {count - known} more {title}")
    return "\n".join(lines)


def _paired(missing: list[tuple[Any, ...]], unexpected: list[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Pair the shown rows that agree in half of their columns or more, the first one among them: it is often the key."""
    candidates = [
        (sum(same), one, other)
        for one in missing
        for other in unexpected
        if (same := [repr(x) == repr(y) for x, y in zip(one, other, strict=True)])[0] and 2 * sum(same) >= len(same)
    ]
    pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    for _, one, other in sorted(candidates, key=lambda each: -each[0]):
        if not any(one is pair[0] or other is pair[1] for pair in pairs):
            pairs.append((one, other))
    return pairs


def _other_values(names: Sequence[str], wanted: tuple[Any, ...], found: tuple[Any, ...]) -> str:
    """Describe a row by the columns that agree, and then each one that does not."""
    columns = list(zip(names, wanted, found, strict=True))
    same = ", ".join(f"{name}={_text(value)}" for name, value, other in columns if repr(value) == repr(other))
    other = ", ".join(f"{name} is {_text(y)}, expected {_text(x)}" for name, x, y in columns if repr(x) != repr(y))
    return f"{same}: {other}"


def _row(names: Sequence[str], row: tuple[Any, ...]) -> str:
    copies = abs(row[-1])
    text = ", ".join(f"{name}={_text(value)}" for name, value in zip(names, row[:-1], strict=True))
    return text if copies == 1 else f"{text} ({copies} times)"


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
