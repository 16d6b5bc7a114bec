# SPDX-License-Identifier: Apache-2.0
"""Tables with variants, on a Spark that has the type and on one that has not."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

import bayou
from bayou.errors import UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.backend import SHREDS_VARIANTS
from bayou.testing.table_builder import TableBuilder, add

HAS_VARIANTS = int(pyspark.__version__.partition(".")[0]) >= 4
SCHEMA = StructType((StructField("id", "long"), StructField("v", "variant")))
PROTOCOL = Protocol(3, 7, ("variantType",), ("variantType", "appendOnly", "invariants"))
REFUSED = {
    "read": lambda spark, path: spark.read.format("delta").load(path).collect(),
    "select": lambda spark, path: spark.sql(f"select id from delta.`{path}`").collect(),
    "append": lambda spark, path: spark.range(1).write.format("delta").mode("append").save(path),
    "insert": lambda spark, path: spark.sql(f"insert into delta.`{path}` (id) values (1)"),
    "delete": lambda spark, path: bayou.DeltaTable.forPath(spark, path).delete("id = 1"),
    "update": lambda spark, path: spark.sql(f"update delta.`{path}` set id = 2"),
    "merge": lambda spark, path: (
        bayou.DeltaTable.forPath(spark, path).merge(spark.range(1), "false").whenNotMatchedInsert(values={"id": "1"}).execute()
    ),
    "stream": lambda spark, path: spark.readStream.format("delta").load(path),
}


@pytest.mark.smoke
@pytest.mark.skipif(not HAS_VARIANTS, reason="this Spark has no variants")
def test_variants_are_written_and_read(spark, table_path):
    spark.sql("select parse_json('{\"a\": 1}') v").write.format("delta").save(table_path)
    spark.sql("select parse_json('{\"a\": 2}') v").write.format("delta").mode("append").save(table_path)
    found = spark.read.format("delta").load(table_path).selectExpr("variant_get(v, '$.a', 'int') a").collect()
    assert sorted(row.a for row in found) == [1, 2]


def knows(spark, setting):
    """Whether this Spark has a setting."""
    try:
        spark.conf.get(setting)
    except Exception:  # noqa: BLE001  (its class depends on the release)
        return False
    return True


@pytest.mark.smoke
@pytest.mark.skipif(not HAS_VARIANTS, reason="this Spark has no variants")
@pytest.mark.parametrize("shreds", [None, "true"])
def test_variants_are_shredded_only_where_the_tables_property_says_so(spark, table_path, shreds):
    properties = {} if shreds is None else {"delta.enableVariantShredding": shreds}
    rows = spark.sql("""select id, parse_json('{"a": ' || id || '}') v from range(100)""").coalesce(1)
    bayou.write(rows, table_path, **properties, **{"delta.enableDeletionVectors": "false"})
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.update("id = 3", {"v": """parse_json('{"a": 7}')"""})
    table.alias("t").merge(rows.alias("s"), "t.id = s.id and s.id = 5").whenMatchedUpdateAll().execute()
    files = [str(each) for each in Path(table_path).rglob("*.parquet")]
    assert len(files) >= 3
    infers = knows(spark, SHREDS_VARIANTS)
    for file in files:
        group = pq.ParquetFile(file).metadata.row_group(0)
        names = [group.column(place).path_in_schema for place in range(group.num_columns)]
        assert any("typed_value" in each for each in names) == (shreds == "true" and infers), names
    assert ("variantShredding-preview" in (bayou.open(table_path).snapshot().protocol.reader_features or ())) == (shreds == "true")
    assert table.toDF().selectExpr("sum(variant_get(v, '$.a', 'int'))").first()[0] == sum(range(100)) + 4


@pytest.mark.smoke
@pytest.mark.skipif(HAS_VARIANTS, reason="this Spark has variants")
@pytest.mark.parametrize("what", REFUSED)
def test_a_table_with_variants_is_refused_by_name_where_spark_has_none(spark, table_path, what):
    builder = TableBuilder(table_path).create(SCHEMA, protocol=PROTOCOL)
    builder.commit(add("a.parquet"))
    with pytest.raises(UnsupportedFeatureError, match="variant") as caught:
        REFUSED[what](spark, table_path)
    assert "4.0" in caught.value.next_step
    assert bayou.open(table_path).version() == 1
