# SPDX-License-Identifier: Apache-2.0
"""Tables in a SQL text become rows that travel with it."""

from __future__ import annotations

import pytest
from pyspark.sql.connect import proto


@pytest.fixture
def reference(parquet_frame):
    from bayou.spark.portable.requests.answers import Reference

    frame = parquet_frame()

    def reference(text, place, part=None, **more):
        start = text.index(place)
        return Reference(start, start + len(part or place), more.pop("frame", frame), **more)

    return reference


def sql(text, **more):
    relation = proto.Relation(sql=proto.SQL(query=text, **more))
    relation.common.plan_id = 9
    return relation


def executed(rewriter, relation):
    request = proto.ExecutePlanRequest()
    request.plan.command.sql_command.input.CopyFrom(relation)
    return request.plan.command.sql_command.input, rewriter.execute(request)


def literal(number):
    return proto.Expression(literal=proto.Expression.Literal(integer=number))


def test_references_are_replaced_by_names(rewriter, answers, reference):
    text = "SELECT `t`.x FROM t JOIN u a ON 'ü' = a.y"
    answers.given["references"] = [reference(text, "u a", part="u"), reference(text, "t JOIN", part="t", alias="my `t`")]
    relation, execution = executed(rewriter, sql(text, named_arguments={"n": literal(1)}))
    views = relation.with_relations
    name = views.references[0].subquery_alias.alias
    assert views.root.sql.query == f"SELECT `t`.x FROM {name} AS `my ``t``` JOIN {name} a ON 'ü' = a.y"
    assert views.root.sql.named_arguments["n"] == literal(1)
    assert [each.subquery_alias.input.read.data_source.format for each in views.references] == ["parquet"]
    assert relation.common.plan_id == 9
    assert not views.root.common.HasField("plan_id")
    assert execution.original == sql(text, named_arguments={"n": literal(1)})


def test_rows_of_the_program_stay_beside_the_others(rewriter, answers, reference, delta_read, parquet_frame):
    text = "SELECT * FROM given JOIN t"
    frame = parquet_frame("/other")
    answers.given["read"] = lambda read: frame if read.data_source.format == "delta" else None
    answers.given["references"] = [reference(text, " t")]
    given = proto.Relation(subquery_alias=proto.SubqueryAlias(alias="given", input=delta_read()))
    relation = proto.Relation(with_relations=proto.WithRelations(root=sql(text), references=[given]))
    changed, _ = executed(rewriter, relation)
    first, second = changed.with_relations.references
    assert (first.subquery_alias.alias, first.subquery_alias.input.read.data_source.paths) == ("given", ["/other"])
    assert second.subquery_alias.input.read.data_source.paths == ["/v0"]
    assert changed.with_relations.root.sql.query == f"SELECT * FROM given JOIN{second.subquery_alias.alias}"


def test_positional_arguments_in_a_reference_are_dropped(rewriter, answers, reference):
    text = "SELECT ? FROM t VERSION AS OF ? WHERE x = ?"
    answers.given["references"] = [reference(text, "t VERSION AS OF ?", arguments=(1,))]
    changed, _ = executed(rewriter, sql(text, pos_arguments=[literal(1), literal(2), literal(3)]))
    assert list(changed.with_relations.root.sql.pos_arguments) == [literal(1), literal(3)]


def test_names_are_used_again_when_a_request_is_done(rewriter, answers, reference):
    text = "SELECT * FROM t"
    answers.given["references"] = [reference(text, "t")]

    def name():
        changed, execution = executed(rewriter, sql(text))
        return changed.with_relations.references[0].subquery_alias.alias, execution

    first, running = name()
    second, _ = name()
    assert first != second
    running.done()
    assert name()[0] == first
