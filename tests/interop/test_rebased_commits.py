# SPDX-License-Identifier: Apache-2.0
"""Two writers changed other rows of one file: what the second one's commit, put on top of the first one's, is to others."""

from __future__ import annotations

import pytest
from tests.interop.delta_rs import by_query, rows_of
from tests.support.observing import actions

import bayou

pytestmark = pytest.mark.oracle

TWENTY = "select id, id * 10 v from range(0, 20, 1, 1)"
SOURCE = "select 7L id, 700L v union all select 20L, 200L"


def plans(spark, path, second):
    """Two changes of rows of one file, planned for one version."""
    table = bayou.DeltaTable.forPath(spark, path)
    merge = table.alias("t").merge(spark.sql(SOURCE).alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    others = {
        "delete": lambda: table.plan_delete("id in (7, 8)"),
        "update": lambda: table.plan_update("id in (7, 8)", {"v": "-v"}),
        "merge": merge.plan,
    }
    return table.plan_delete("id in (3, 4)"), others[second]()


LEFT = {number: number * 10 for number in range(20) if number not in (3, 4)}
EXPECTED = {
    "delete": {key: value for key, value in LEFT.items() if key not in (7, 8)},
    "update": {**LEFT, 7: -70, 8: -80},
    "merge": {**LEFT, 7: 700, 20: 200},
}


@pytest.mark.parametrize("feed", ["false", "true"], ids=["no feed", "feed"])
@pytest.mark.parametrize("second", EXPECTED)
def test_delta_spark_and_delta_rs_read_a_commit_that_went_on_top_of_another_writers(delta_spark, spark, tmp_path, second, feed):
    path = str(tmp_path / "table")
    bayou.write(spark.sql(TWENTY), path, **{"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": feed})
    first, other = plans(spark, path, second)
    assert first.execute().version == 1
    assert other.execute().version == 2
    vectors = [each["deletionVector"]["cardinality"] for each in actions(path, "add", 2) if "deletionVector" in each]
    assert vectors == [3 if second == "merge" else 4]  # the first one's rows are in the second one's vector

    wanted = sorted([str(key), str(value)] for key, value in EXPECTED[second].items())
    query = f"select cast(id as string), cast(v as string) from delta.`{path}`"
    assert sorted(delta_spark.sql(query)) == wanted
    assert rows_of(by_query(path)) == sorted(str({"id": key, "v": value}) for key, value in EXPECTED[second].items())
    delta_spark.sql(f"update delta.`{path}` set v = 0 where id = 1")
    found = bayou.read(spark, path).collect()
    assert {row.id: row.v for row in found} == {**EXPECTED[second], 1: 0}
    if feed == "true":
        told = f"select _change_type, count(*) from table_changes_by_path('{path}', 2, 2) group by 1"
        kinds = {
            "delete": {"delete": 2},
            "update": {"update_preimage": 2, "update_postimage": 2},
            "merge": {"update_preimage": 1, "update_postimage": 1, "insert": 1},
        }
        assert {kind: int(count) for kind, count in delta_spark.sql(told)} == kinds[second]
