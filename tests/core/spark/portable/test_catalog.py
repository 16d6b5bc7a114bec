# SPDX-License-Identifier: Apache-2.0
"""Names of tables, as a session of Spark Connect reads them without a server."""

from __future__ import annotations

from typing import Any

import pytest

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.portable.catalog import PortableCatalog

NOTHING: Any = None


@pytest.mark.parametrize(
    ("text", "parts", "path"),
    [
        ("t", ("t",), None),
        ("db.t", ("db", "t"), None),
        ("`a.b`.`c``d`", ("a.b", "c`d"), None),
        ("spark_catalog.db.t", ("db", "t"), None),
        ("SPARK_CATALOG . db . t", ("db", "t"), None),
        ("delta.`/data/t`", ("delta", "/data/t"), "/data/t"),
        ("Delta.`s3://b/t`", ("Delta", "s3://b/t"), "s3://b/t"),
        ("delta.t", ("delta", "t"), None),
        ("parquet.`/data/t`", ("parquet", "/data/t"), None),
    ],
)
def test_a_name_has_up_to_two_parts_after_its_catalog(text: str, parts: tuple[str, ...], path: str | None) -> None:
    name = PortableCatalog(NOTHING).name(text)
    assert (name.parts, name.path, name.table) == (parts, path, parts[-1])
    assert name.database == (parts[0] if len(parts) > 1 else None)
    assert PortableCatalog(NOTHING).name(name.text) == name


@pytest.mark.parametrize("text", ["", "a b", "a.", ".a", "a..b", "1 + 1", "other.db.t", "a.b.c.d", "'t'", "`t"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptionError):
        PortableCatalog(NOTHING).name(text)


def test_a_stock_catalog_takes_no_delta_table() -> None:
    catalog = PortableCatalog(NOTHING)
    with pytest.raises(UnsupportedFeatureError, match="has no data source delta"):
        catalog.check_takes(catalog.name("db.t"))
    with pytest.raises(UnsupportedFeatureError, match="refuses entries"):
        catalog.create(catalog.name("db.t"), "/data/t", managed=True)
