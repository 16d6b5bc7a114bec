# SPDX-License-Identifier: Apache-2.0
"""The clauses of an INSERT: the values of its partition, and the options of its table."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.portable.commands.inserts import _static_values
from bayou.spark.portable.commands.row_changes import planned_change
from bayou.spark.portable.text.row_changes import row_change
from bayou.spark.portable.text.tables.reader import options_of

PARTITIONS = {
    "a = 1": {"a": "1"},
    "a = 'x' -- comment\n": {"a": "'x'"},
    "a /* = 2 */ == (1 + 2) * 3, `b=c` = '=', d": {"a": "(1 + 2) * 3", "b=c": "'='"},
}


@pytest.mark.parametrize("text", PARTITIONS)
def test_the_values_of_a_partition(text):
    assert _static_values(row_change(f"INSERT OVERWRITE delta.`/t` PARTITION ({text}) SELECT 1")) == PARTITIONS[text]


OPTIONS = {
    "'replaceWhere' = \"d = 'x'\"": {"replaceWhere": "d = 'x'"},
    "versionAsOf = 1, a.b true -- comment": {"versionAsOf": "1", "a.b": "true"},
    "'location' = 'x'": {"location": "x"},
}


@pytest.mark.parametrize("text", OPTIONS)
def test_the_options_of_a_table(text):
    table = row_change(f"INSERT INTO delta.`/t` WITH ({text}\n) SELECT 1").table
    assert options_of(table, table.options.text, None) == OPTIONS[text]


@pytest.mark.parametrize("text", ["a", "a = b", "a = 1, a = 2", "a = 1) (b = 2", ""])
def test_options_that_spark_refuses(text):
    table = row_change("INSERT INTO delta.`/t` WITH (a = 1) SELECT 1").table
    with pytest.raises(InvalidOptionError, match="options after WITH of /t"):
        options_of(table, text, None)


OTHERS = {
    "DELETE": "DELETE FROM {t}",
    "UPDATE": "UPDATE {t} SET a = 1",
    "MERGE": "MERGE INTO {t} USING s ON true WHEN MATCHED THEN DELETE",
}


@pytest.mark.parametrize("operation", OTHERS)
def test_other_statements_take_no_options(operation):
    text = OTHERS[operation].format(t="delta.`/t` WITH (a = 1)")
    with pytest.raises(UnsupportedFeatureError, match=f"{operation} of a table with options"):
        planned_change(None, None, text, "/t", None)
