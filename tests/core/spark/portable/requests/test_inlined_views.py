# SPDX-License-Identifier: Apache-2.0
"""When what a temporary view is of may stand in a request in its place."""

from __future__ import annotations

import pytest

grpc = pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")


@pytest.fixture
def changes():
    """The number of changes of settings, in a list."""
    return [0]


@pytest.fixture
def views(changes):
    from bayou.spark.portable.requests.views.followed import FollowedViews

    return FollowedViews(lambda: changes[0])


def create(views, relation, name="v", *, is_global=False):
    from pyspark.sql.connect import proto

    command = proto.CreateDataFrameViewCommand(input=relation, name=name, is_global=is_global)
    views.created(command, command, replaced=True)


def inlined(views, name, *, is_case_sensitive=True):
    return views.inlined(name, lambda: is_case_sensitive)


def of_sql(text):
    from pyspark.sql.connect import proto

    return proto.Relation(sql=proto.SQL(query=text))


def named(view):
    from pyspark.sql.connect import proto

    found = proto.Relation()
    found.read.named_table.unparsed_identifier = view
    return found


def filtered(relation, condition):
    from pyspark.sql.connect import proto

    found = proto.Relation()
    found.filter.input.CopyFrom(relation)
    found.filter.condition.expression_string.expression = condition
    return found


def test_a_view_of_a_table_is_inlined_by_its_own_name(views, delta_read):
    create(views, delta_read())
    assert inlined(views, "v") == delta_read()
    assert inlined(views, "V") is None
    assert inlined(views, "V", is_case_sensitive=False) == delta_read()
    assert inlined(views, "w") is None
    create(views, filtered(delta_read(), "id > 1"), "`my view`")
    assert inlined(views, "my view") == filtered(delta_read(), "id > 1")


def test_a_global_view_is_not_inlined(views, delta_read):
    create(views, delta_read(), is_global=True)
    assert inlined(views, "v") is None
    assert inlined(views, "global_temp.v") is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM delta.`/t` WHERE id > 3",
        "WITH c AS (SELECT * FROM delta.`/t`) SELECT c.id FROM c JOIN delta.`/u` u ON c.id = u.id",
    ],
)
def test_a_view_of_a_query_over_paths_is_inlined(views, text):
    create(views, of_sql(text))
    assert inlined(views, "v") == of_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM delta.`/t` JOIN other USING (id)",
        "SELECT * FROM delta.`/t` JOIN range(3) USING (id)",
        "SELECT *, rand() AS r FROM delta.`/t`",
        "SELECT * FROM delta.`/t` TABLESAMPLE (10 PERCENT)",
        "SELECT * FROM IDENTIFIER('delta.`/t`')",
        "SELECT * FROM",
    ],
)
def test_a_view_that_may_have_other_rows_is_not_inlined(views, text):
    create(views, of_sql(text))
    assert inlined(views, "v") is None


def test_other_relations_are_not_inlined(views, delta_read, parquet_frame):
    from pyspark.sql.connect import proto

    limited, joined, streaming = proto.Relation(), proto.Relation(), delta_read()
    limited.limit.input.CopyFrom(delta_read())
    joined.join.left.CopyFrom(delta_read())
    joined.join.right.CopyFrom(parquet_frame()._plan.plan(None))
    streaming.read.is_streaming = True
    for relation in (limited, joined, streaming, filtered(delta_read(), "id IN (SELECT id FROM w)")):
        create(views, relation)
        assert inlined(views, "v") is None


@pytest.mark.parametrize(
    "statement",
    [
        "SET spark.sql.ansi.enabled = false",
        " /* a */ -- b\n set time zone 'UTC'",
        "RESET",
        "USE other",
        "EXECUTE IMMEDIATE 'x'",
        "BEGIN SELECT 1; END",
        "l: BEGIN SELECT 1; END",
        "CREATE OR REPLACE TEMPORARY FUNCTION f AS 'x'",
    ],
)
def test_after_a_statement_that_may_change_its_meaning_a_view_is_the_servers(views, delta_read, statement):
    create(views, delta_read())
    views.note_statement("SELECT * FROM v WHERE reset = 1")
    assert inlined(views, "v") is not None
    views.note_statement(statement)
    assert inlined(views, "v") is None
    create(views, delta_read())
    assert inlined(views, "v") is not None


def test_after_a_change_of_settings_a_view_is_the_servers_until_it_is_created_again(views, changes, delta_read):
    create(views, delta_read())
    changes[0] += 1
    assert inlined(views, "v") is None

    def rewrite(command):
        command.input.read.data_source.paths[0] = "/version2"

    views.refresh("SELECT * FROM v", rewrite, lambda _: None)
    assert inlined(views, "v") == delta_read()


def test_a_view_that_changed_or_is_cached_is_the_servers(views, delta_read):
    create(views, delta_read())
    views.note_statement("CACHE TABLE v")
    assert inlined(views, "v") is None
    views.note_cleared()
    assert inlined(views, "v") is not None
    from pyspark.sql.connect import proto

    named = proto.Relation()
    named.read.named_table.unparsed_identifier = "V"
    assert views.note_persisted(named)
    assert inlined(views, "v") is None
    create(views, delta_read())
    assert views.note_persisted(filtered(named, "id = 1"))
    assert not views.note_persisted(delta_read())
    assert inlined(views, "v") is not None
    views.changed_by("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1")
    assert inlined(views, "v") is None


@pytest.mark.parametrize("what", ["a setting", "a cache"])
def test_a_view_of_a_view_that_is_the_servers_is_the_servers(views, changes, delta_read, what):
    create(views, delta_read())
    create(views, filtered(named("v"), "id > 0"), "w")
    assert inlined(views, "w") is not None
    if what == "a cache":
        views.note_statement("CACHE TABLE v")
    else:
        changes[0] += 1
    create(views, filtered(named("v"), "id > 0"), "w")
    assert inlined(views, "w") is None
