# SPDX-License-Identifier: Apache-2.0
"""Settings of scans are set for the operations that read with their option, also by the names of views, and for no others."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark.sql.connect.proto", reason="the client of Spark Connect needs grpcio")

from pyspark.sql.connect import proto

from bayou.spark.portable.scan import guards
from bayou.spark.portable.scan.guards import BY_IDS


def query(text):
    return proto.Plan(root=proto.Relation(sql=proto.SQL(query=text)))


def statement(text):
    """A statement with rows of a table that are read with the option."""
    read = proto.Read(data_source=proto.Read.DataSource(format="parquet", options={BY_IDS: "true"}))
    named = proto.SubqueryAlias(alias="rows", input=proto.Relation(read=read))
    relations = proto.WithRelations(
        root=proto.Relation(sql=proto.SQL(query=text)), references=[proto.Relation(subquery_alias=named)]
    )
    return proto.Plan(command=proto.Command(sql_command=proto.SqlCommand(input=proto.Relation(with_relations=relations))))


@pytest.mark.parametrize(
    "text", ["CREATE OR REPLACE TEMP VIEW `My View` AS SELECT * FROM rows", "create view if not exists db.`my view` as table rows"]
)
def test_only_reads_of_a_view_of_the_table_need_the_settings(monkeypatch, text):
    monkeypatch.setattr(guards, "_Pinned", lambda *_: "pinned")
    watcher = guards._Settings(None, BY_IDS, {})
    assert watcher.begin(query("SELECT * FROM `my view`")) is None
    assert watcher.begin(statement(text)) == "pinned"
    assert watcher.begin(query("SELECT * FROM `my VIEW`")) == "pinned"
    assert watcher.begin(query("SELECT * FROM another_view")) is None


def test_a_query_about_the_word_view_changes_nothing(monkeypatch):
    monkeypatch.setattr(guards, "_Pinned", lambda *_: "pinned")
    watcher = guards._Settings(None, BY_IDS, {})
    assert watcher.begin(statement("SELECT 'a view' FROM rows")) == "pinned"
    assert watcher.begin(query("SELECT 1")) is None
