# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.maintenance.optimize import OptimizeRequest
from bayou.spark.read.session_table import SessionTable
from bayou.spark.table.optimize import DeltaOptimizeBuilder
from bayou.table import DeltaTable

BUILDER = DeltaOptimizeBuilder(SessionTable(None, None, "/a/table", {}), OptimizeRequest())


@pytest.fixture
def table():
    return DeltaTable._at(None, "/a/table", {})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda table: table.restoreToVersion("1"), ValueError, "version needs to be an int but got '<class 'str'>'."),
        (lambda table: table.restoreToTimestamp(1), ValueError, "timestamp needs to be a string but got '<class 'int'>'."),
        (lambda table: table.clone(1), ValueError, "target needs to be a string but got '<class 'int'>'."),
        (lambda table: table.clone("/b", 1), ValueError, "isShallow needs to be a boolean but got '<class 'int'>'."),
        (lambda table: table.clone("/b", True, "x"), ValueError, "replace needs to be a boolean but got '<class 'str'>'."),
        (
            lambda table: table.clone("/b", True, properties=[]),
            ValueError,
            "properties needs to be a dict but got '<class 'list'>'.",
        ),
        (lambda table: table.clone("/b", True, properties={"a": 1}), ValueError, "All property values including 1 needs"),
        (lambda table: table.cloneAtVersion("1", "/b"), ValueError, "version needs to be an int"),
        (lambda table: table.vacuum("soon"), ValueError, "could not convert"),
        (lambda table: table.generate("other"), InvalidOptionError, "DELTA_MODE_NOT_SUPPORTED"),
        (lambda _: BUILDER.executeZOrderBy(1), TypeError, "Z-order column must be str. Found 1 with type"),
        (lambda _: BUILDER.where(1), ValueError, "partitionFilter needs to be a string"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_are_checked_first_as_delta_spark_checks_them(table, call, error, text):
    with pytest.raises(error) as caught:
        call(table)
    assert text in str(caught.value)
    assert not isinstance(caught.value, UnsupportedFeatureError)
