# SPDX-License-Identifier: Apache-2.0
"""Operations that change rows, on each kind of table, as methods and as SQL; and the change data feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.smoke.operations import OPERATIONS, NotInThisSparkError, Place, equal, operation, refused
from tests.support.on_connect import another_session, is_on_connect

import bayou
from bayou import DeltaTable, IdentityGenerator

if TYPE_CHECKING:
    from collections.abc import Callable

FOUR = ((1, "a"), (2, "b"), (3, "a"), (4, "b"))
KINDS = {
    "plain": {},
    "partitioned": {"by": "v"},
    "vector": {"properties": " tblproperties ('delta.enableDeletionVectors' = 'true')"},
    "feed": {"properties": " tblproperties ('delta.enableChangeDataFeed' = 'true')"},
    "mapped": {"properties": " tblproperties ('delta.columnMapping.mode' = 'name')"},
    "tracked": {"properties": " tblproperties ('delta.enableRowTracking' = 'true')"},
}
AFTER = ((2, "B"), (3, "a"), (4, "new"), (5, "e"))
"""The rows after the DELETE, the UPDATE and the MERGE below."""


def _by_methods(kind: str) -> Callable[[Place], None]:
    def change(on: Place) -> None:
        name = on.named(*FOUR, **KINDS[kind])
        table = DeltaTable.forName(on.spark, name)
        table.delete("id = 1")
        table.update("id = 2", {"v": "upper(v)"})
        source = on.rows((4, "new"), (5, "e")).alias("s")
        merge = table.alias("t").merge(source, "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        on.expect(name, *AFTER)

    return change


def _in_sql(kind: str) -> Callable[[Place], None]:
    def change(on: Place) -> None:
        name = on.named(*FOUR, **KINDS[kind])
        equal(on.sql(f"delete from {name} where id = 1"), [(1,)])
        equal(on.sql(f"update {name} set v = upper(v) where id = 2"), [(1,)])
        source = "(select 4 id, 'new' v union all select 5, 'e')"
        merge = f"merge into {name} t using {source} s on t.id = s.id when matched then update set * when not matched then insert *"
        equal(on.sql(merge), [(2, 1, 0, 1)])
        on.expect(name, *AFTER)

    return change


for _kind in KINDS:
    OPERATIONS[f"changes_by_methods_on_a_{_kind}_table"] = _by_methods(_kind)
    OPERATIONS[f"changes_in_sql_on_a_{_kind}_table"] = _in_sql(_kind)


@operation
def merge_with_every_clause(on: Place) -> None:
    name, source = on.named(*FOUR), on.named((1, "x"), (2, "y"), (7, "z"))
    on.sql(
        f"merge into {name} t using {source} s on t.id = s.id when matched and s.v = 'x' then delete "
        "when matched then update set v = s.v when not matched then insert (id, v) values (s.id, s.v) "
        "when not matched by source and t.id = 3 then delete when not matched by source then update set v = 'old'"
    )
    on.expect(name, (2, "y"), (4, "old"), (7, "z"))


@operation
def merge_with_schema_evolution(on: Place) -> None:
    name = on.named((1, "a"))
    source = on.rows((1, "b", 9), schema="id int, v string, n int").alias("s")
    merge = DeltaTable.forName(on.spark, name).alias("t").merge(source, "t.id = s.id")
    merge.withSchemaEvolution().whenMatchedUpdateAll().execute()
    on.expect(name, (1, "b", 9))


@operation
def merge_refuses_two_matches(on: Place) -> None:
    name = on.named((1, "a"))
    merge = f"merge into {name} t using (select 1 id union all select 1) s on t.id = s.id when matched then update set v = 'z'"
    refused(lambda: on.sql(merge), "DELTA_MULTIPLE_SOURCE_ROW_MATCHING")
    on.expect(name, (1, "a"))


@operation
def merge_into_of_a_frame(on: Place) -> None:
    if not hasattr(DataFrame, "mergeInto"):
        raise NotInThisSparkError("DataFrame.mergeInto")
    name = on.named((1, "a"))
    merge = on.rows((1, "b"), (2, "c")).alias("s").mergeInto(name, F.expr(f"s.id = {name}.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    on.expect(name, (1, "b"), (2, "c"))


@operation
def changes_by_path_in_sql(on: Place) -> None:
    path = on.saved(*FOUR)
    on.sql(f"delete from delta.`{path}` where v = 'a'")
    on.sql(f"update delta.`{path}` set v = 'c' where id = 4")
    on.expect(path, (2, "b"), (4, "c"))


@operation
def subqueries_and_views(on: Place) -> None:
    name = on.named(*FOUR)
    on.sql(f"create or replace temporary view shown as select v as text, id from {name}")
    equal(on.sql(f"delete from {name} where id in (select id from shown where text = 'a' and id < 3)"), [(1,)])
    equal(on.sql("update shown set text = (select max(text) from shown) where id = (select max(id) - 1 from shown)"), [(1,)])
    source = "(select 4 id, 'new' text union all select 5, 'e')"
    merge = "when matched and t.text = (select 'b') then update set text = s.text when not matched then insert *"
    equal(on.sql(f"merge into shown t using {source} s on t.id = s.id {merge}"), [(2, 1, 0, 1)])
    equal(on.sql("with q as (select 2 as id) delete from shown t where exists (select 1 from q where q.id = t.id)"), [(1,)])
    on.expect(name, (3, "b"), (4, "new"), (5, "e"))
    on.sql(f"create or replace temporary view some as select * from {name} where id > 3")
    refused(lambda: on.sql("delete from some"), "DELTA_OPERATION_NOT_ALLOWED")


@operation
def change_data_feed(on: Place) -> None:
    name = on.named(*FOUR[:2], properties=KINDS["feed"]["properties"])
    on.sql(f"update {name} set v = 'z' where id = 1")
    on.sql(f"delete from {name} where id = 2")
    frame = on.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2).table(name)
    feed = frame.select("id", "v", "_change_type", "_commit_version")
    expected = [(1, "a", "update_preimage", 2), (1, "z", "update_postimage", 2), (2, "b", "delete", 3)]
    equal(feed, expected)


@operation
def identity_columns(on: Place) -> None:
    name = on.name()
    builder = DeltaTable.create(on.spark).tableName(name).addColumn("k", "BIGINT", generatedAlwaysAs=IdentityGenerator())
    builder.addColumn("v", "STRING").execute()
    for value in ("a", "b"):
        on.sql(f"insert into {name} (v) values ('{value}')")
    keys = [row[0] for row in on.sql(f"select k from {name} order by v").collect()]
    if not keys[0] < keys[1]:
        raise AssertionError(keys)


@operation
def history_and_detail(on: Place) -> None:
    name = on.named(*FOUR)
    table = DeltaTable.forName(on.spark, name)
    table.delete("id = 1")
    equal(table.history().select("version", "operation"), [(2, "DELETE"), (1, "WRITE"), (0, "CREATE TABLE")])
    equal(table.detail().select("format", "numFiles"), [("delta", table.toDF().inputFiles().__len__())])


@operation
def a_checkpoint_is_written_and_read(on: Place) -> None:
    path = on.saved((0, "a"))
    for number in range(1, 11):
        on.rows((number, "a")).write.format("delta").mode("append").save(path)
    on.expect(path, *((number, "a") for number in range(11)))
    other = another_session(on.spark)
    equal(bayou.enable(other).read.format("delta").load(path).groupBy().count(), [(11,)])
    if is_on_connect(other):  # PySpark 4.1 looks for its server for minutes at the end. Classic sessions share a context
        other.stop()
