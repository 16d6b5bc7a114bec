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
    assert views.root.sql.query == f"SELECT `t`.x FROM ({name} AS `my ``t```) JOIN {name} a ON 'ü' = a.y"
    assert views.root.sql.named_arguments["n"] == literal(1)
    assert [each.subquery_alias.input.filter.input.read.data_source.format for each in views.references] == ["parquet"]
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
    assert second.subquery_alias.input.filter.input.read.data_source.paths == ["/v0"]
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


def test_a_text_in_another_request_is_set_apart_and_keeps_its_number(rewriter, answers, reference):
    answers.given["references"] = [reference("SELECT * FROM t", "t")]
    request = proto.ExecutePlanRequest()
    request.plan.root.CopyFrom(sql("SELECT * FROM t"))
    rewriter.execute(request)
    assert request.plan.root.common.plan_id == 9
    assert request.plan.root.filter.condition.literal.boolean
    assert request.plan.root.filter.input.WhichOneof("rel_type") == "with_relations"


def test_a_cached_text_keeps_its_rows_under_new_names(rewriter, answers, reference, parquet_frame):
    answers.given["references"] = [reference("SELECT * FROM t", "t")]
    persist = proto.AnalyzePlanRequest()
    persist.persist.relation.CopyFrom(sql("SELECT * FROM t"))
    running = rewriter.relations.aliases.take()
    rewriter.analyze(persist).done()
    rewriter.relations.aliases.give_back(running)
    answers.given["references"] = [reference("SELECT * FROM t", "t", frame=parquet_frame("/v1"))]
    request = proto.ExecutePlanRequest()
    request.plan.root.CopyFrom(sql("SELECT * FROM t"))
    rewriter.execute(request)
    before, after = persist.persist.relation.filter.input.with_relations, request.plan.root.filter.input.with_relations
    name = after.references[0].subquery_alias.alias
    assert name != before.references[0].subquery_alias.alias
    assert after.root.sql.query == f"SELECT * FROM {name}"
    assert after.references[0].subquery_alias.input == before.references[0].subquery_alias.input
