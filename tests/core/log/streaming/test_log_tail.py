# SPDX-License-Identifier: Apache-2.0
"""What a stream reads of commits, which of them stop it, and which options let it go on."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.streams import ONE, drain, next_batch, paths, place, source_of, table

from bayou.errors import CorruptLogError, StreamingSourceError, UnsupportedProtocolError
from bayou.log.streaming.request.limits import ReadLimits
from bayou.log.streaming.request.settings import OFFSET_VALIDATION_CONF
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import add, metadata, remove

BY_ALICE = {
    "operation": "UPDATE",
    "operationParameters": {"predicate": '["(id = 1)"]'},
    "userName": "alice",
    "engineInfo": "bayou/1.0",
}


def started(builder=None, **options):
    """A stream that has read the first snapshot, and where it is."""
    builder = builder or table().commit(add("a"))
    source = source_of(builder, **options)
    return builder, source, next_batch(source)[0]


def rest(source, at, limits=None):
    return [path for batch in drain(source, at, limits)[0] for path in batch]


def refused(source, at):
    with pytest.raises(StreamingSourceError) as raised:
        drain(source, at)
    return raised.value


def test_the_files_that_commits_add_come_in_their_order():
    builder, source, at = started()
    builder.commit(add("z"), add("b")).commit(add("c"))
    assert drain(source, at, ReadLimits(2))[0] == [["z", "b"], ["c"]]


def test_a_commit_may_be_split_over_batches():
    builder, source, at = started()
    builder.commit(add("b"), add("c"), add("d"))
    end, found = next_batch(source, at, ReadLimits(2))
    assert (place(end), found) == ((2, 1, False), ["b", "c"])
    end, found = next_batch(source, end, ReadLimits(2))
    assert (place(end), found) == ((3, -100, False), ["d"])


def test_commits_without_rows_move_the_offset_along_with_what_is_read_before_them():
    builder, source, at = started()
    builder.commit(add("b")).commit(add("a", dataChange=False), remove("b", dataChange=False)).commit()
    end, found = next_batch(source, at, ONE)
    assert (place(end), found) == ((5, -100, False), ["b"])


def test_where_nothing_is_new_the_offset_stays():
    _, source, at = started()
    assert source.latest_offset(at, source.limits) == at
    assert paths(source.batch(at, at)) == []


def test_a_commit_that_only_removes_files_stops_the_stream():
    builder, source, at = started()
    builder.commit(remove("a"), info={**BY_ALICE, "operation": "DELETE"})
    error = refused(source, at)
    assert error.error_class == "DELTA_SOURCE_IGNORE_DELETE"
    assert "DELETE by alice with bayou/1.0" in str(error)
    assert "'ignoreDeletes'" in error.next_step
    assert (error.version, error.operation, error.user) == (2, "DELETE", "alice")


@pytest.mark.parametrize("option", ["ignoreDeletes", "ignoreChanges", "ignoreFileDeletion", "skipChangeCommits"])
def test_options_pass_over_a_commit_that_only_removes_files(option):
    builder, source, at = started(**{option: True})
    builder.commit(remove("a")).commit(add("b"))
    assert rest(source, at) == ["b"]


def test_a_commit_that_removes_and_adds_files_stops_the_stream():
    builder, source, at = started(ignoreDeletes=True)
    builder.commit(remove("a"), add("b"), info=BY_ALICE)
    error = refused(source, at)
    assert error.error_class == "DELTA_SOURCE_TABLE_IGNORE_CHANGES"
    assert "by alice" in str(error)
    assert "'skipChangeCommits'" in error.next_step
    assert (error.operation, error.user, error.file) == ("UPDATE", "alice", "a")


def test_a_commit_that_names_no_operation_is_told_by_the_file_that_it_removes():
    builder, source, at = started()
    builder.commit(remove("a"), add("b"), info={"operation": None})
    error = refused(source, at)
    assert (error.operation, error.file) == (None, "a")


@pytest.mark.parametrize(
    ("option", "found"), [("ignoreChanges", ["b", "c"]), ("ignoreFileDeletion", ["b", "c"]), ("skipChangeCommits", ["c"])]
)
def test_options_say_whether_the_new_files_of_a_change_are_read(option, found):
    builder, source, at = started(**{option: True})
    builder.commit(add("b"), remove("a")).commit(add("c"))
    assert rest(source, at) == found


def test_a_rewrite_that_changes_no_row_stops_nothing_and_is_not_read():
    builder, source, at = started()
    builder.commit(remove("a", dataChange=False), add("b", dataChange=False)).commit(add("c"))
    assert rest(source, at) == ["c"]


def test_what_comes_before_a_commit_that_stops_the_stream_is_read_first():
    builder, source, at = started()
    builder.commit(add("b")).commit(add("c")).commit(remove("a"))
    end, found = next_batch(source, at)
    assert (found, place(end)) == (["b", "c"], (4, -100, False))
    assert refused(source, end).version == 4


def test_without_limits_a_commit_that_stops_the_stream_does_so_at_once():
    builder, source, at = started()
    builder.commit(add("b")).commit(remove("a"))
    for limits in (None, ReadLimits()):
        with pytest.raises(StreamingSourceError):
            source.latest_offset(at, limits)


def test_an_option_lets_a_batch_be_read_again_that_was_planned_with_it():
    builder, source, at = started(skipChangeCommits=True)
    builder.commit(add("b"), remove("a")).commit(add("c"))
    end, _ = next_batch(source, at)
    with pytest.raises(StreamingSourceError):
        source_of(builder).batch(at, end)


def test_excluded_files_of_a_commit_are_not_counted_and_keep_their_index():
    builder, source, at = started(excludeRegex="x")
    builder.commit(add("x1"), add("b"), add("x2"), add("c"), add("x3"))
    end, found = next_batch(source, at, ONE)
    assert (place(end), found) == ((2, 1, False), ["b"])
    end, found = next_batch(source, end, ONE)
    assert (place(end), found) == ((3, -100, False), ["c"])


def test_one_file_may_come_with_other_deletion_vectors_in_other_versions():
    vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    first, second = (encode_inline(rows).to_json() for rows in ([1], [1, 2]))
    builder, source, at = started(table(protocol=vectors, actions=[add("a")]), ignoreChanges=True)
    builder.commit(remove("a"), add("a", deletionVector=first))
    builder.commit(remove("a", deletionVector=first), add("a", deletionVector=second))
    end, found = next_batch(source, at)
    assert found == ["a", "a"]
    files = source.batch(at, end).files
    assert files["commit_version"].to_pylist() == [1, 2]
    assert [each["path_or_inline_dv"] for each in files["deletion_vector"].to_pylist()] == [
        first["pathOrInlineDv"],
        second["pathOrInlineDv"],
    ]


def test_a_commit_that_needs_a_newer_reader_stops_the_stream():
    builder, source, at = started()
    builder.commit(add("b")).commit({"protocol": Protocol(99, 99).to_json()})
    assert next_batch(source, at)[1] == ["b"]
    with pytest.raises(UnsupportedProtocolError):
        drain(source, at)


def test_a_broken_commit_stops_the_stream():
    builder, source, at = started()
    builder.commit({"add": {"partitionValues": {}, "size": 1}})
    with pytest.raises(CorruptLogError, match=r"\badd\b.* 1 "):
        next_batch(source, at)


def test_metadata_of_another_table_stops_the_stream():
    builder, source, at = started()
    replaced = metadata()
    replaced["metaData"]["id"] = "another"
    builder.commit(replaced, add("b"))
    assert refused(source, at).error_class == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


def test_partition_filters_prune_the_files_of_commits():
    schema = {"id": "long", "day": "string"}
    builder, source, at = started(table(schema, partition_by=["day"]))
    builder.commit(add("b", partitionValues={"day": "1"}), add("c", partitionValues={"day": "2"}))
    end, _ = next_batch(source, at)
    assert source.batch(at, end).may_match([("day", "=", "2")]).to_pylist() == [False, True]
    assert source.batch(at, at).may_match([("day", "=", "2")]).to_pylist() == []


@pytest.mark.parametrize("settings", [{}, {OFFSET_VALIDATION_CONF: "false"}])
def test_offsets_that_go_back_are_refused_unless_the_session_says_otherwise(settings):
    builder = table().commit(add("a")).commit(add("b")).commit(add("c"))
    source = source_of(builder, settings, startingVersion=1)
    first, _ = next_batch(source, limits=ReadLimits(1))
    second, _ = next_batch(source, first, ReadLimits(1))
    if settings:
        assert paths(source.batch(second, first)) == []
    else:
        with pytest.raises(StreamingSourceError):
            source.batch(second, first)
