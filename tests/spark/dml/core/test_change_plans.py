# SPDX-License-Identifier: Apache-2.0
"""What plans of changes say of each file, and what results say of them afterwards."""

from __future__ import annotations

import json

import pyarrow.compute as pc
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.plan.row_changes import FileTotals

HUNDRED = "select id, id div 25 p from range(0, 100, 1, 4)"


def make(spark, path, query, partition_by=(), **properties):
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def outcomes(planned):
    """What the plan has in mind for the files, which is as much as its totals say."""
    plan = planned.plan
    found = plan.files()
    totals = {
        "pruned by partition": plan.pruned_by_partition,
        "pruned by statistics": plan.pruned_by_statistics,
        "deleted unread": plan.wholly_matched,
        "may be rewritten": plan.may_rewrite,
        "read": plan.to_read if plan.may_rewrite.files == 0 else FileTotals(),
    }
    for outcome, total in totals.items():
        chosen = found.filter(pc.equal(found["outcome"], outcome))
        assert FileTotals(chosen.num_rows, sum(chosen["size"].to_pylist())) == total
    return dict(zip(found["path"].to_pylist(), found["outcome"].to_pylist(), strict=True))


def test_a_plan_names_each_file_and_what_becomes_of_it(spark, table_path, way):
    table = make(spark, table_path, "select id, id v, id div 30 p from range(0, 60, 1, 1)", partition_by=["p"], **way)
    bayou.write(spark.sql("select id, id v, 1L p from range(60, 80, 1, 1)"), table_path, mode="append")
    bayou.write(spark.sql("select id, id v, 1L p from range(80, 90, 1, 1)"), table_path, mode="append")
    paths = bayou.open(table_path).snapshot().files(["path", "stats"])
    least = {json.loads(stats)["minValues"]["id"]: path for path, stats in zip(*paths.to_pydict().values(), strict=True)}
    planned = table.plan_delete("p = 1 and id between 70 and 100")
    read = "read" if way is VECTORS else "may be rewritten"
    expected = {0: "pruned by partition", 30: "pruned by statistics", 60: read, 80: "deleted unread"}
    assert outcomes(planned) == {least[key]: outcome for key, outcome in expected.items()}
    rewritten = 0 if way is VECTORS else 1
    result = planned.execute()
    assert (result.num_scanned_files, result.num_pruned_files, result.num_rewritten_files) == (1, 2, rewritten)
    planned = table.plan_update("p = 1 and id >= 60", {"v": "0"})
    assert sorted(outcomes(planned).values()) == sorted(["pruned by partition", "pruned by statistics", read])
    result = planned.execute()
    assert (result.num_scanned_files, result.num_pruned_files, result.num_rewritten_files) == (1, 2, rewritten)
    source = spark.sql("select 61L id, 5L v, 1L p union all select 100L, 5L, 1L").alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id and t.p = s.p").whenMatchedUpdateAll()
    planned = merge.whenNotMatchedInsertAll().plan()
    found = outcomes(planned)
    assert found[least[0]] == "pruned by partition"
    assert found[least[30]] == "pruned by statistics"
    result = planned.execute()
    scanned = sum(outcome == read for outcome in found.values())
    assert (result.num_scanned_files, result.num_pruned_files) == (scanned, len(found) - scanned)
    assert result.num_rewritten_files == rewritten
    planned = merge.whenNotMatchedBySourceDelete().plan()
    assert set(outcomes(planned).values()) == {read}


def test_a_plan_of_nothing_reads_nothing_and_a_replay_has_no_files(spark, table_path):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **FILES)
    assert set(outcomes(table.plan_delete("p = 77")).values()) == {"pruned by partition"}
    assert set(outcomes(table.plan_delete()).values()) == {"deleted unread"}
    assert table.delete("id = 5", txn=("app", 1)).num_scanned_files == 1
    result = table.delete("id = 5", txn=("app", 1))
    assert (result.reason, result.num_scanned_files, result.num_pruned_files, result.num_rewritten_files) == ("replayed", 0, 0, 0)
    source = spark.sql("select 5L id").alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id", txn=("app", 1)).whenMatchedDelete()
    assert merge.plan().plan.files().num_rows == 0
