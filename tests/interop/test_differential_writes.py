# SPDX-License-Identifier: Apache-2.0
"""Random tables and random writes into them: delta-spark and bayou both take a write or both refuse it; the same rows result."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.interop.oracle import write_by_name
from tests.interop.refusals import both_are_right

import bayou
from bayou.protocol.types.schema import parse_schema

pytestmark = pytest.mark.oracle

# Each type with a value, NULL, and what a column of another type would bring for it.
VALUES = {
    "BIGINT": ("1L", "-2L", "7", "cast(3 as short)", "'x'", "1.5"),
    "INT": ("1", "-5", "2L", "'x'", "cast(1 as tinyint)"),
    "STRING": ("'a'", "''", "'long text'", "1"),
    "DOUBLE": ("1.5D", "double('NaN')", "1", "cast(1.5 as float)", "1.5"),
    "DECIMAL(5,2)": ("cast(1.25 as decimal(5,2))", "cast(1.2 as decimal(4,1))", "cast(1 as decimal(10,2))", "1"),
    "DATE": ("date'2024-01-02'", "timestamp'2024-01-02 03:04:05'", "'2024-01-02'"),
    "VARCHAR(3)": ("'abc'", "'abcd'", "1"),
    "STRUCT<x: INT, y: STRING>": (
        "struct(1 as x, 'a' as y)",
        "struct('b' as y, 2 as x)",
        "struct(1 as x)",
        "struct(1 as x, 'a' as y, 3 as z)",
        "struct(1L as x, 'a' as y)",
    ),
    "STRUCT<x: INT NOT NULL, y: STRING>": (
        "named_struct('x', 1, 'y', 'a')",
        "named_struct('x', cast(null as int), 'y', 'a')",
        "named_struct('y', 'b', 'x', 2)",
        "named_struct('y', 'b')",
    ),
    "ARRAY<INT>": ("array(1, 2)", "array(1L)", "array(cast(null as int))"),
    "MAP<STRING, INT>": ("map('k', 1)", "map('k', 1L)"),
}
NAMES = ("a", "b", "c")
MERGES = {"mergeSchema": "true"}
OPTIONS = {
    "append": [{}, {}, MERGES, {"dataChange": "false"}, {"maxRecordsPerFile": "1"}, {"optimizeWrite": "true"}],
    "overwrite": [
        {},
        {"overwriteSchema": "true"},
        {"replaceWhere": "k >= 0"},
        {"replaceWhere": "k >= 0", **MERGES},
        {"partitionOverwriteMode": "dynamic"},
        {"replaceUsing": "k"},
        {"replaceOn": "target.k = given.k", "targetAlias": "target"},
    ],
}
SETTINGS = [
    {},
    {},
    {},
    {"spark.databricks.delta.schema.autoMerge.enabled": "true"},
    {"spark.sql.storeAssignmentPolicy": "STRICT"},
    {"spark.sql.storeAssignmentPolicy": "LEGACY"},
    {"spark.sql.ansi.enabled": "false"},
]
DEFAULTS = {"BIGINT": "7", "INT": "-1", "STRING": "'none'", "DATE": "current_date()", "DECIMAL(5,2)": "1.5", "VARCHAR(3)": "'x'"}
PROPERTIES = [
    (),
    ("'delta.columnMapping.mode' = 'name'",),
    ("'delta.columnMapping.mode' = 'id'",),
    ("'delta.enableTypeWidening' = 'true'",),
    ("'delta.enableRowTracking' = 'true'",),
]
VERBS = ("INSERT", "INSERT BY NAME", "insertInto", "append", "overwritePartitions", "saveAsTable")


@dataclass(frozen=True)
class Table:
    """A table: its columns, each a name, a type and whether it may be NULL, and what else the statement that makes it says."""

    columns: tuple[tuple[str, str, bool], ...]
    partition_by: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    generated: bool = False
    check: str | None = None
    identity: str | None = None
    defaults: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    def statements(self, name):
        listed = [
            f"{n} {t}{'' if nullable else ' NOT NULL'}{f' DEFAULT {DEFAULTS[t]}' if n in self.defaults else ''}"
            for n, t, nullable in self.columns
        ]
        if self.generated:
            listed.append("g BIGINT GENERATED ALWAYS AS (k + 1)")
        if self.identity:
            listed.append(f"i BIGINT GENERATED {self.identity} AS IDENTITY (START WITH 5 INCREMENT BY -3)")
        text = f"create table {name} (k BIGINT, {', '.join(listed)}) using delta"
        if self.partition_by:
            text += f" partitioned by ({', '.join(self.partition_by)})"
        if self.properties:
            text += f" tblproperties ({', '.join(self.properties)})"
        return [text]


@dataclass(frozen=True)
class Write:
    """A write: a row's columns as SQL, the mode and the options of `save`, or one of the verbs for tables with names."""

    columns: tuple[tuple[str, str], ...]
    mode: str
    options: dict[str, str] = field(default_factory=dict)
    verb: str | None = None

    @property
    def query(self):
        return "select " + ", ".join(f"{value} as `{name}`" for name, value in self.columns)


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    columns = tuple(
        (NAMES[i], kind, draw(st.booleans()) or kind.startswith(("STRUCT", "ARRAY", "MAP"))) for i, kind in enumerate(kinds)
    )
    plain = [n for n, t, _ in columns if "<" not in t and t != "DOUBLE"]
    partition_by = tuple(draw(st.lists(st.sampled_from(plain), max_size=1))) if plain else ()
    properties = draw(st.sampled_from(PROPERTIES))
    check = draw(st.sampled_from([None, "k >= 0", "k is not null"]))
    identity = draw(st.sampled_from([None, None, "ALWAYS", "BY DEFAULT"]))
    defaults = tuple(draw(st.lists(st.sampled_from([n for n, t, _ in columns if t in DEFAULTS] or [""]), max_size=1)))
    defaults = tuple(each for each in defaults if each)
    if defaults:
        properties = (*properties, "'delta.feature.allowColumnDefaults' = 'supported'")
    return Table(columns, partition_by, properties, draw(st.booleans()), check, identity, defaults, draw(st.sampled_from(SETTINGS)))


@st.composite
def writes(draw, table):
    given = (
        [("k", draw(st.sampled_from(["1L", "-1L", "cast(null as bigint)", "5"])))]
        if table.generated or draw(st.integers(0, 7))
        else []
    )
    for name, kind, _ in table.columns:
        how = draw(st.sampled_from(["value", "value", "value", "null", "absent", "upper"]))
        if how == "absent":
            continue
        value = f"cast(null as {kind})" if how == "null" else draw(st.sampled_from(VALUES[kind]))
        given.append((name.upper() if how == "upper" else name, value))
    if draw(st.integers(0, 4)) == 0 or not given:
        given.append(("extra", "1"))
    if table.generated and draw(st.booleans()):
        given.append(("g", draw(st.sampled_from(["2L", "cast(null as bigint)", "9L"]))))
    if table.identity and draw(st.integers(0, 2)) == 0:
        given.append(("i", draw(st.sampled_from(["-4L", "100", "cast(null as bigint)"]))))
    if draw(st.booleans()):
        given.reverse()
    if draw(st.booleans()):
        return Write(tuple(given), "append", draw(st.sampled_from([{}, {}, MERGES])), draw(st.sampled_from(VERBS)))
    mode = draw(st.sampled_from(list(OPTIONS)))
    return Write(tuple(given), mode, draw(st.sampled_from(OPTIONS[mode])))


@st.composite
def histories(draw):
    table = draw(tables())
    return table, draw(st.lists(writes(table), min_size=1, max_size=3))


def written(spark, path, write):
    """The error of a write by bayou, or None."""
    rows = spark.sql(write.query)
    try:
        if write.verb:
            write_by_name(rows, write.verb, f"delta.`{path}`", write.options)
        else:
            rows.alias("given").write.format("delta").mode(write.mode).options(**write.options).save(path)
    except Exception as error:  # noqa: BLE001  (compared with the other engine's)
        return f"{type(error).__name__}: {error}"
    return None


def error_class(text):
    """The class that an error's text begins with, without the subclass."""
    found = re.search(r"\[([A-Z0-9_]+)", text)
    return found.group(1) if found else text[:80]


# Where the classes differ and both are right: each pair is one refusal in two words.
SAME = [
    {"DELTA_FAILED_TO_MERGE_FIELDS", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"},
    # Rows with a column too many and values for an identity column; by a table's name, delta-spark sees the latter first, too.
    {"INSERT_COLUMN_ARITY_MISMATCH", "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"},
    # INSERT BY NAME of a column that the table has not got: delta-spark's name for it is another one where a value is to be cast.
    {"DELTA_MISSING_COLUMN", "DELTA_METADATA_MISMATCH"},
    # INSERT BY NAME of every column and one that the table has not got.
    {"INSERT_COLUMN_ARITY_MISMATCH", "DELTA_METADATA_MISMATCH"},
    # Two faults: a column that the table has not got, and a struct with a field too few.
    {"DELTA_MISSING_COLUMN", "DELTA_INSERT_COLUMN_ARITY_MISMATCH"},
    # Two faults: such a column, and a value for an identity column.
    {"DELTA_MISSING_COLUMN", "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"},
    # Two faults: a new column where no row may change, and one that is missing.
    {"DELTA_DATA_CHANGE_FALSE", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"},
    # `overwriteSchema` without a column that a CHECK uses: bayou tells it before there are rows (docs/differences.md).
    {"DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"},
    # `storeAssignmentPolicy=STRICT`: delta-spark asks Spark for a cast that keeps every value, bayou for what STRICT allows.
    {"CANNOT_UP_CAST_DATATYPE", "INCOMPATIBLE_DATA_FOR_TABLE"},
]

# Two faults: a value that cannot be cast is a constant here, which delta-spark computes before it looks at the columns. Then what
# is wrong with these is as good an answer.
COMPUTED = "CAST_INVALID_INPUT"
OF_COLUMNS = {
    "DELTA_METADATA_MISMATCH",
    "DELTA_MISSING_NOT_NULL_COLUMN_VALUE",
    "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
    "DELTA_INSERT_COLUMN_MISMATCH",
    "DELTA_DUPLICATE_COLUMNS_FOUND",
    "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
}

# Two faults: by position, a column too many has the name of another one, which bayou tells first; and a type cannot change, which
# delta-spark does.
TWICE = "DELTA_DUPLICATE_COLUMNS_FOUND"
BEFORE_TWICE = {"DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"}


def agree(theirs, ours):
    first, second = error_class(theirs), error_class(ours)
    is_same = first == second or {first, second} in SAME or (second == TWICE and first in BEFORE_TWICE)
    is_same = is_same or (first == COMPUTED and second in OF_COLUMNS)
    return is_same or both_are_right(theirs, first, second)


def rows_of(delta_spark, path):
    return sorted(row[0] or "" for row in delta_spark.sql(f"select to_json(struct(*)) from delta.`{path}`"))


def columns_of(path):
    schema = parse_schema(bayou.open(path).snapshot().metadata.schema_string)
    return [(f.name, str(f.type) if isinstance(f.type, str) else type(f.type).__name__, f.nullable) for f in schema.fields]


@settings(max_examples=5)
@given(history=histories())
def test_both_engines_take_and_refuse_the_same_writes(delta_spark, spark, tmp_path_factory, history):
    compare(delta_spark, spark, tmp_path_factory.mktemp("both"), history)


@pytest.mark.soak
@pytest.mark.timeout(0)  # as long as the histories take
@given(history=histories())
def test_both_engines_take_and_refuse_the_same_writes_in_thousands_of_histories(delta_spark, spark, tmp_path_factory, history):
    compare(delta_spark, spark, tmp_path_factory.mktemp("both"), history)


def compare(delta_spark, spark, folder, history):
    """Has both engines write the same, and compares the errors, the columns and the rows."""
    table, asked = history
    theirs, ours = str(folder / "theirs"), str(folder / "ours")
    make(delta_spark, spark, table, theirs, ours)
    assert columns_of(ours) == columns_of(theirs)
    changed = {name: spark.conf.get(name, None) for name in table.settings}
    delta_spark.sql(*(f"set {name}={value}" for name, value in table.settings.items()), "select 1")
    for name, value in table.settings.items():
        spark.conf.set(name, value)
    try:
        for write in asked:
            compare_write(delta_spark, spark, table, write, theirs, ours)
    finally:
        delta_spark.sql(*(f"reset {name}" for name in changed), "select 1")
        for name, value in changed.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    assert columns_of(ours) == columns_of(theirs)
    assert rows_of(delta_spark, ours) == rows_of(delta_spark, theirs), (table, asked)


def make(delta_spark, spark, table, theirs, ours):
    delta_spark.sql(*table.statements(f"delta.`{theirs}`"), "select 1")
    for statement in table.statements(f"delta.`{ours}`"):
        spark.sql(statement)
    if table.check:
        delta_spark.sql(f"alter table delta.`{theirs}` add constraint c check ({table.check})", "select 1")
        bayou.DeltaTable.forPath(spark, ours).addConstraint("c", table.check)


def compare_write(delta_spark, spark, table, write, theirs, ours):
    if write.verb:
        refused = delta_spark.write_by_name(write.query, write.verb, theirs, write.options)
    else:
        refused = delta_spark.write(write.query, theirs, write.mode, write.options, [])
    files = {each for each in Path(ours).rglob("*.parquet") if "_delta_log" not in each.parts}
    error = written(spark, ours, write)
    event(f"refused: {refused is not None}")
    assert (refused is None) == (error is None), (table, write, refused, error)
    if refused is not None and error is not None:
        assert agree(refused, error), (table, write, refused, error)
        assert {each for each in Path(ours).rglob("*.parquet") if "_delta_log" not in each.parts} == files
