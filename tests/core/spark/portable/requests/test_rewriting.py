# SPDX-License-Identifier: Apache-2.0
"""Relations are found wherever they are in a request, and nothing else is changed."""

from __future__ import annotations

import sys

import pytest
from pyspark.sql.connect import proto


@pytest.fixture
def replaced(answers, parquet_frame):
    """Reads of tables become reads of files."""
    frame = parquet_frame()
    answers.given["read"] = lambda read: frame if read.data_source.format == "delta" else None


def executed(rewriter, **plan):
    request = proto.ExecutePlanRequest(plan=proto.Plan(**plan))
    rewriter.execute(request)
    return request.plan


def formats(message):
    """The formats of all reads, in the order of the text form."""
    return [line.split('"')[1] for line in str(message).splitlines() if line.strip().startswith("format:")]


@pytest.mark.usefixtures("replaced")
def test_a_replaced_relation_keeps_its_number(rewriter, delta_read):
    plan = executed(rewriter, root=delta_read(7))
    assert plan.root.read.data_source.format == "parquet"
    assert plan.root.common.plan_id == 7


@pytest.mark.usefixtures("replaced")
def test_what_holds_relations_is_walked(rewriter, delta_read):
    table = delta_read()
    inner = proto.Relation(join=proto.Join(left=table, right=table))
    subqueries = proto.Relation(with_relations=proto.WithRelations(root=inner, references=[table, table]))
    commands = [
        proto.Command(create_dataframe_view=proto.CreateDataFrameViewCommand(input=subqueries, name="v")),
        proto.Command(write_operation=proto.WriteOperation(input=subqueries)),
        proto.Command(write_operation_v2=proto.WriteOperationV2(input=subqueries)),
        proto.Command(merge_into_table_command=proto.MergeIntoTableCommand(source_table_plan=subqueries)),
        proto.Command(write_stream_operation_start=proto.WriteStreamOperationStart(input=subqueries)),
        proto.Command(checkpoint_command=proto.CheckpointCommand(relation=subqueries)),
    ]
    for command in commands:
        assert formats(executed(rewriter, command=command)) == ["parquet"] * 4
    assert formats(executed(rewriter, root=subqueries)) == ["parquet"] * 4


@pytest.mark.usefixtures("replaced")
@pytest.mark.parametrize("kind", ["schema", "explain", "tree_string", "is_local", "is_streaming", "input_files", "semantic_hash"])
def test_questions_about_a_plan_are_rewritten(rewriter, delta_read, kind):
    request = proto.AnalyzePlanRequest()
    getattr(request, kind).plan.root.CopyFrom(delta_read())
    rewriter.analyze(request)
    assert formats(request) == ["parquet"]


@pytest.mark.usefixtures("replaced")
def test_both_plans_of_a_comparison_are_rewritten(rewriter, delta_read):
    request = proto.AnalyzePlanRequest()
    request.same_semantics.target_plan.root.CopyFrom(delta_read(1))
    request.same_semantics.other_plan.root.CopyFrom(delta_read(2))
    rewriter.analyze(request)
    assert formats(request) == ["parquet", "parquet"]


def test_a_request_without_a_table_stays_the_same_to_the_byte(rewriter, answers, parquet_frame):
    request = proto.ExecutePlanRequest(session_id="s", operation_id="o", tags=["t"])
    request.plan.root.filter.input.CopyFrom(parquet_frame()._plan.plan(None))
    before = request.SerializeToString(deterministic=True)
    assert not rewriter.execute(request).is_watched
    assert request.SerializeToString(deterministic=True) == before
    assert set(answers.asked) == {"read"}  # once for the filter, which may leave out files, and once for the read


def test_unknown_fields_are_kept(rewriter):
    # Field 5000 of a newer protocol.
    newer = bytes([0xC2, 0xB8, 0x02, 3]) + b"abc"
    plan = proto.Plan.FromString(newer)
    request = proto.ExecutePlanRequest(plan=plan)
    rewriter.execute(request)
    assert newer in request.SerializeToString()
    analyze = proto.AnalyzePlanRequest.FromString(newer)
    rewriter.analyze(analyze)
    assert newer in analyze.SerializeToString()


@pytest.mark.usefixtures("replaced")
def test_plans_deeper_than_python_calls_are_rewritten(rewriter, delta_read):
    request = proto.ExecutePlanRequest()
    relation = request.plan.root
    for _ in range(2_000):
        relation.limit.limit = 1
        relation = relation.limit.input
    relation.CopyFrom(delta_read())
    rewriter.execute(request)
    assert relation.read.data_source.format == "parquet"


def calls_of(rewriter, num_bytes, num_expressions):
    """The number of Python calls for a request of this size."""
    request = proto.ExecutePlanRequest()
    project = request.plan.root.project
    project.input.local_relation.data = bytes(num_bytes)
    for _ in range(num_expressions):
        project.expressions.add().unresolved_function.arguments.add().literal.integer = 1
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        rewriter.execute(request)
    finally:
        sys.setprofile(None)
    return calls


def test_rows_cost_nothing_and_an_expression_a_few_calls(rewriter):
    """Expressions are looked at for subqueries in SQL."""
    calls_of(rewriter, 1, 1)  # the fields that lead to relations are found once
    small = calls_of(rewriter, 1, 1)
    assert calls_of(rewriter, 10_000_000, 1) == small
    assert calls_of(rewriter, 1, 1001) <= small + 8 * 1000


@pytest.mark.usefixtures("replaced")
@pytest.mark.parametrize("kind", ["root", "command"])
def test_compressed_plans_are_rewritten(rewriter, delta_read, kind):
    zstandard = pytest.importorskip("zstandard")
    if not hasattr(proto.Plan, "CompressedOperation"):
        pytest.skip("this client compresses no plans")
    plain = {"root": delta_read(), "command": proto.Command(checkpoint_command=proto.CheckpointCommand(relation=delta_read()))}[
        kind
    ]
    compressed = proto.Plan.CompressedOperation(
        data=zstandard.compress(plain.SerializeToString()),
        op_type=1 if kind == "root" else 2,
        compression_codec=proto.CompressionCodec.COMPRESSION_CODEC_ZSTD,
    )
    plan = executed(rewriter, compressed_operation=compressed)
    assert plan.WhichOneof("op_type") == "compressed_operation"
    assert formats(type(plain).FromString(zstandard.decompress(plan.compressed_operation.data))) == ["parquet"]


def test_errors_of_answers_are_raised_as_they_are(rewriter, answers, delta_read):
    def failing(_):
        raise LookupError("gone")

    answers.given["read"] = failing
    with pytest.raises(LookupError, match="gone"):
        executed(rewriter, root=delta_read())
    assert not rewriter.relations.are_untouched
