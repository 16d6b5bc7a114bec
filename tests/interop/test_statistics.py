# SPDX-License-Identifier: Apache-2.0
"""The statistics that we write are those that delta-spark writes for the same rows, field by field, or the page says why not."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from tests.interop import written_tables
from tests.interop.sampled import sampled
from tests.support.observing import without_statistics

import bayou
from bayou.log.operations import compute_statistics
from bayou.protocol.actions.file_names import commit_path

pytestmark = pytest.mark.oracle

PREFIX = "delta.dataSkippingStringPrefixLength"
TOP = "\U0010ffff"
SMILE = "\U0001f600"


def text(value):
    """A text as SQL, whatever it holds."""
    return f"decode(unhex('{value.encode().hex()}'), 'UTF-8')"


# Each column by its values as SQL, in the order of the rows; what is missing is NULL.
TEXTS = {
    name: [text(value) for value in values]
    for name, values in {
        "empty": [""],
        "blank": [" ", "\t"],
        "plain": ["b", "a", "ab"],
        "of_32": ["a" * 32],
        "of_33": ["a" * 33],
        "of_64": ["a" * 64, "b"],
        "up_to_7f": ["a" * 32 + "\x7f" + "z"],
        "below_7f": ["a" * 32 + "~" * 40],
        "umlauts_33": ["ü" * 33],
        "smiles_16": [SMILE * 16],
        "smiles_17": [SMILE * 17],
        "smiles_32": [SMILE * 32],
        "smiles_33": [SMILE * 33],
        "pair_at_32": ["a" * 31 + SMILE + "b"],
        "pair_behind_32": ["a" * 32 + SMILE],
        "pair_and_more": ["a" * 31 + SMILE + "z" * 40, "a" * 30 + SMILE * 3],
        "highest_33": [TOP * 33],
        "highest_at_32": ["a" * 31 + TOP + "b"],
        "highest_behind_32": ["a" * 32 + TOP + "b"],
        "highest_to_64": ["a" * 32 + TOP * 40],
        "highest_32_and_a": [TOP * 32 + "a"],
        "around_surrogates": ["a" * 32 + "\ud7ff", "a" * 32 + "\ue000"],
        "private": ["\uffff" * 40],
        "escapes": ['q"\\\n\r\t\u0000/\u2028<\u007f\u0085'],
        "decomposed": ["e\u0301" * 20],
        "of_2047": ["a" * 2047],
        "of_2048": ["a" * 2048],
        "of_4095_together": ["a" * 4094, "b"],
        "of_4096_together": ["a" * 4095, "b"],
    }.items()
}
NUMBERS = {
    "byte": ["-128Y", "127Y"],
    "short": ["-32768S", "5S"],
    "long": ["-9223372036854775807L - 1L", "9223372036854775807L"],
    "long_behind_double": ["9007199254740993L"],
    "float_tenth": ["float('0.1')", "float('-1.5')"],
    "float_extremes": ["float('3.4028235E38')", "float('1.4E-45')"],
    "float_whole": ["float('16777216')", "float('1E10')"],
    "float_infinite": ["float('Infinity')", "float('-Infinity')"],
    "float_zero": ["float('-0.0')"],
    "double_tenth": ["0.1D", "1E-3D", "123456789.123D"],
    "double_extremes": ["1.7976931348623157E308D", "4.9E-324D"],
    "double_infinite": ["double('Infinity')", "1D"],
    "double_zero": ["double('-0.0')"],
    "double_both_zeros": ["double('-0.0')", "0D"],
    "double_nan_alone": ["double('NaN')"],
    "double_nan": ["double('NaN')", "1.5D"],
    "decimal_9_2": ["cast('-1.50' as decimal(9, 2))", "cast('0' as decimal(9, 2))"],
    "decimal_18_0": ["cast('999999999999999999' as decimal(18, 0))"],
    "decimal_19_18": ["cast('-1.000000000000000001' as decimal(19, 18))"],
    "decimal_38_0": ["cast('99999999999999999999999999999999999999' as decimal(38, 0))"],
    "decimal_38_38": ["cast('-0.00000000000000000000000000000000000001' as decimal(38, 38))"],
    "boolean": ["true", "false"],
    "binary": ["unhex('00ff')"],
    "nothing": ["cast(null as int)"],
    "void": [],
}
INSTANTS = {
    "date": ["date'2026-01-01'", "date'1969-12-31'"],
    "date_old": ["date'0001-01-01'", "date'1582-10-04'"],
    "date_far": ["date'9999-12-31'"],
    "timestamp": ["timestamp'2026-01-01 00:00:00.999999Z'", "timestamp'2026-01-01 00:00:00.000001Z'"],
    "timestamp_whole": ["timestamp'2026-01-01 00:00:00Z'"],
    "timestamp_before_1970": ["timestamp'1969-12-31 23:59:59.999999Z'", "timestamp'1969-12-31 23:59:59.123456Z'"],
    "timestamp_old": ["timestamp'0001-01-01 00:00:00.000001Z'", "timestamp'1582-10-10 00:00:00Z'"],
    "timestamp_far": ["timestamp'9999-12-31 23:59:59.999999Z'"],
    "ntz": ["timestamp_ntz'2026-01-01 00:00:00.999999'", "timestamp_ntz'1969-12-31 23:59:59.999999'"],
    "ntz_whole": ["timestamp_ntz'2026-01-01 00:00:00'"],
    "ntz_old": ["timestamp_ntz'0001-01-01 00:00:00.5'"],
    "ntz_far": ["timestamp_ntz'9999-12-31 23:59:59.999999'"],
}
NESTED = {
    "s": [
        f"named_struct('a', 1, 'long text', {text('b' * 31 + SMILE * 2)}, 'in', named_struct('d', double('NaN'), 't', 'x'))",
        "named_struct('a', cast(null as int), 'long text', cast(null as string), 'in', null)",
        "null",
    ],
    "l": ["array(1, null)", "array()"],
    "m": ["map('k', named_struct('v', 1))"],
    "ls": ["array(named_struct('e', 1))", "null"],
    "sl": ["named_struct('l', array(1), 'n', 5L)", "named_struct('l', null, 'n', null)"],
    "`dots.in.it`": ["1", "2"],
    "UPPER": ["'a'"],
}
NESTED["s"] = [value.replace("long text", "long_text") for value in NESTED["s"]]
MANY = {**{f"c{number}": [str(number)] for number in range(30)}, "s": ["named_struct('a', 1, 'b', 2, 'c', 3)"], "last": ["1"]}
FEW = {
    "p": ["'x'"],
    "a": ["1"],
    "s": ["named_struct('b', 2, 'c', named_struct('d', 3, 'e', 4))"],
    "f": ["'f'"],
    "g": ["array(1)"],
    "h": ["6L"],
}

# The columns, the partition columns and the table's properties.
TABLES = {
    "texts": (TEXTS, [], {}),
    "numbers": (NUMBERS, [], {}),
    "instants": (INSTANTS, [], {}),
    "nested": (NESTED, [], {}),
    "more columns than are indexed": (MANY, [], {}),
    "as many columns as the table says": (FEW, ["p"], {"delta.dataSkippingNumIndexedCols": "3"}),
    "all columns": (MANY, [], {"delta.dataSkippingNumIndexedCols": "-1"}),
    "no columns": (FEW, [], {"delta.dataSkippingNumIndexedCols": "0"}),
    "texts cut short": (TEXTS, [], {PREFIX: "5"}),
    "texts cut to nothing": (TEXTS, [], {PREFIX: "0"}),
    "columns by name": (FEW, ["p"], {"delta.dataSkippingStatsColumns": "h,s.c,f"}),
}


def query(columns):
    """The rows of some columns as SQL."""
    count = max(map(len, columns.values()))
    rows = (
        "select " + ", ".join(f"{values[n] if n < len(values) else 'null'} as {name}" for name, values in columns.items())
        for n in range(count)
    )
    return " union all ".join(rows)


def stats_of(path, version=0):
    lines = Path(path, commit_path(version)).read_text(encoding="utf-8").split("\n")  # a text may hold other ends of lines
    (stats,) = [json.loads(line)["add"]["stats"] for line in lines if line.startswith('{"add"')]
    return json.loads(stats, parse_float=Decimal)


def leaves(value, path=()):
    """The fields of the statistics by their paths; an object without members is as good as none."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, value


def differences(spark, delta_spark, folder, rows, partition_by=(), properties=None):
    """The fields in which the statistics differ: ours and delta-spark's."""
    ours, theirs, source = (str(folder / name) for name in ("ours", "theirs", "source"))
    rows.coalesce(1).write.parquet(source)
    bayou.write(spark.read.parquet(source).coalesce(1), ours, partition_by=partition_by, **(properties or {}))
    settings = ", ".join(f"'{name}' = '{value}'" for name, value in (properties or {}).items())
    delta_spark.sql(
        f"create table delta.`{theirs}` using delta"
        + (f" partitioned by ({', '.join(partition_by)})" if partition_by else "")
        + (f" tblproperties ({settings})" if settings else "")
        + f" as select /*+ coalesce(1) */ * from parquet.`{source}`"
    )
    mine, other = dict(leaves(stats_of(ours))), dict(leaves(stats_of(theirs)))
    pairs = {".".join(path): (mine.get(path), other.get(path)) for path in {**mine, **other}}
    return {name: pair for name, pair in pairs.items() if not same(*pair)}


def same(mine, other):
    """Whether two bounds are one value: Java writes a subnormal float or double with more digits than it takes."""
    if isinstance(mine, Decimal) and isinstance(other, Decimal) and abs(mine) < Decimal("1e-37"):
        return mine == other or float(mine) == float(other) or np.float32(mine) == np.float32(other) != 0
    return mine == other


@pytest.mark.parametrize("table", sampled(["types", *TABLES], 2))
def test_statistics_are_delta_sparks_for_the_same_rows(spark, delta_spark, tmp_path, table):
    if table in TABLES:
        columns, partition_by, properties = TABLES[table]
        rows = spark.sql(query(columns))
    else:
        rows, partition_by, properties = written_tables.rows(spark, table), [], {}
    prefix = int(properties.get(PREFIX, 32))
    found = differences(spark, delta_spark, tmp_path, rows, partition_by, properties)
    assert {name: values for name, values in found.items() if not is_listed(name, *values, prefix)} == {}


@pytest.mark.parametrize("way", ["by footers", "by a scan"])
@pytest.mark.parametrize("table", sampled(list(TABLES), 2))
def test_statistics_that_are_made_anew_are_delta_sparks(spark, delta_spark, tmp_path, table, way, monkeypatch):
    """Those of its own files, before and after it has made them anew itself; the commits say the same."""
    columns, partition_by, properties = TABLES[table]
    theirs, ours = (str(tmp_path / name) for name in ("theirs", "ours"))
    settings = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    delta_spark.sql(
        f"create table delta.`{theirs}` using delta"
        + (f" partitioned by ({', '.join(partition_by)})" if partition_by else "")
        + (f" tblproperties ({settings})" if settings else "")
        + f" as select /*+ coalesce(1) */ * from ({query(columns)})"
    )
    shutil.copytree(theirs, ours)
    without_statistics(ours)
    delta_spark.recompute(theirs)
    if way == "by a scan":
        stated_statistics = compute_statistics.stated_statistics
        untold = lambda footer, leaves: (stated_statistics(footer, leaves)[0], {leaf.path for leaf in leaves})  # noqa: E731
        monkeypatch.setattr(compute_statistics, "stated_statistics", untold)
    bayou.DeltaTable.forPath(spark, ours).computeStatistics()
    mine, other = dict(leaves(stats_of(ours, 1))), dict(leaves(stats_of(theirs, 1)))
    pairs = {".".join(path): (mine.get(path), other.get(path)) for path in {**mine, **other}}
    prefix = int(properties.get(PREFIX, 32))
    others = {name: pair for name, pair in pairs.items() if not same(*pair) and name not in NO_VALUES}
    assert {name: pair for name, pair in others.items() if not name.startswith("max") or not is_listed(name, *pair, prefix)} == {}
    entries = [bayou.open(each).history(1)[0] for each in (ours, theirs)]
    assert len({(each.operation, str(each.operation_parameters), str(each.operation_metrics)) for each in entries}) == 1


# A column without a type has no values, and none of our statistics.
NO_VALUES = {"nullCount.void"}
NO_NULL_COUNT = {"l", "m", "ls", "sl.l", "void"}  # NULL, empty, or something in them is
HOLD_NAN = {"double_nan", "double_nan_alone", "s.in.d", "c_float", "c_double"}
NOT_IN_FOOTERS = {"of_2048", "of_4096_together"}


def is_listed(name, mine, other, prefix):
    """Whether docs/differences.md lists the difference; bounds of strings keep a prefix."""
    kind, _, column = name.partition(".")
    if column in NOT_IN_FOOTERS or (kind == "nullCount" and column in NO_NULL_COUNT):
        return mine is None
    if kind == "nullCount":
        return False
    if column in HOLD_NAN:
        return mine is None
    if kind == "maxValues" and other is None:
        return mine == TOP * 33
    return kind == "maxValues" and isinstance(other, str) and is_cut_earlier(mine, other, prefix)


def is_cut_earlier(mine, other, prefix):
    """Whether a maximum is cut where delta-spark counts the prefix, and a character beyond U+FFFF as two."""
    kept = other[:-1]
    return other[-1] == TOP and mine.startswith(kept) and len(kept) < prefix <= len(kept.encode("utf-16-le")) // 2
