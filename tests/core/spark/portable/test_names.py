# SPDX-License-Identifier: Apache-2.0
"""Names of tables, and which of them are paths."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.spark.portable.catalog import PortableName
from bayou.spark.portable.names import check_format, name_parts, path_in
from bayou.spark.portable.text.queries import tables_in

PATHS = {
    "delta.`/a/t`": "/a/t",
    "DELTA . `s3://b/t`": "s3://b/t",
    "spark_catalog.delta.`/a/t`": "/a/t",
    "delta.events": None,
    "delta.`events`": None,
    "spark_catalog.delta.events": None,
    "other.delta.`/a/t`": None,
    "parquet.`/a/t`": None,
    "`/a/t`": None,
}


@pytest.mark.parametrize("name", PATHS)
def test_a_name_in_the_database_delta_is_a_path_if_it_has_a_slash(name):
    assert path_in(name) == PATHS[name]
    assert [table.path for table in tables_in(f"SELECT * FROM {name}")] == [PATHS[name]]
    assert PortableName(name_parts(name) or ()).path == PATHS[name]


def test_another_format_does_not_fit_a_path():
    check_format("", "delta.`/a/t`")
    check_format("Delta", "delta.`/a/t`")
    with pytest.raises(InvalidOptionError, match="parquet"):
        check_format("parquet", "delta.`/a/t`")
