# SPDX-License-Identifier: Apache-2.0
"""The files and rows of change feeds; `test_change_range` is about the versions, `test_change_checks` about what is refused."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.log.feed_actions import FEED, VECTORS, cdc, gone, vector

from bayou.errors import CorruptLogError, DeletionVectorError
from bayou.log import change_files
from bayou.log.change_feed import ChangeBounds
from bayou.protocol import file_names
from bayou.protocol.deletion_vector import encode_file, encode_inline
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


def table(*, partition_by=()):
    return TableBuilder(store=MemoryStore()).create(
        {"id": "long", "day": "string"}, partition_by=partition_by, configuration=FEED, protocol=VECTORS
    )


def feed_of(builder, start=1, end=None):
    return builder.log().change_feed(ChangeBounds(starting_version=start, ending_version=end))


def changes(builder, start=1, end=None):
    """(version, kind, path) of each file to read."""
    rows = feed_of(builder, start, end).files.select(["commit_version", "kind", "path"]).to_pylist()
    return [tuple(row.values()) for row in rows]


def rows_of(builder, start=1):
    """(kind, path, whether the rows are a difference, the rows) of each file to read."""
    found = feed_of(builder, start).changed_rows()
    files = found.files.select(["kind", "path", "is_difference"]).to_pylist()
    rows = [None if each is None else each.to_list() for each in found.rows]
    return [(*file.values(), row) for file, row in zip(files, rows, strict=True)]


def test_added_files_are_inserts_and_removed_files_are_deletes():
    builder = table().commit(add("a")).commit(gone("a"), add("b"))
    assert changes(builder) == [(1, "insert", "a"), (2, "delete", "a"), (2, "insert", "b")]


def test_a_file_to_read_carries_what_a_reader_needs():
    builder = table(partition_by=["day"]).commit(add("day=1/a%20b", partitionValues={"day": "1"}, size=12, modificationTime=34))
    for version in (0, 1):
        builder.store.set_modification_time(file_names.commit_path(version), 1_700_000_000_000 + version)
    feed = feed_of(builder)
    assert feed.files.schema == change_files.CHANGE_FILES
    assert feed.files.to_pylist() == [
        {
            "kind": "insert",
            "path": "day=1/a%20b",
            "partition_values": [("day", "1")],
            "size": 12,
            "modification_time": 34,
            "commit_version": 1,
            "commit_timestamp": 1_700_000_000_001,
            "deletion_vector": None,
            "is_difference": False,
            "except_vector": None,
        }
    ]
    assert feed.partition_texts()["day"].to_pylist() == ["1"]
    assert (feed.size_bytes, feed.start, feed.end) == (12, 1, 1)


def test_the_feed_has_the_columns_of_the_table_and_three_more():
    feed = feed_of(table().commit(add("a")))
    columns = [(field.name, field.type) for field in feed.schema.fields]
    added = [("_change_type", "string"), ("_commit_version", "long"), ("_commit_timestamp", "timestamp")]
    assert columns == [("id", "long"), ("day", "string"), *added]


def test_a_commit_with_change_files_is_read_from_them_alone():
    builder = table().commit(add("a")).commit(gone("a"), cdc("_change_data/c"), add("b")).commit(add("d"))
    assert changes(builder, 2) == [(2, "cdc", "_change_data/c"), (3, "insert", "d")]


def test_files_that_are_only_rearranged_are_no_changes():
    builder = table().commit(add("a")).commit(gone("a", dataChange=False), add("b", dataChange=False), cdc("c"))
    builder.commit(gone("b", dataChange=False), add("d", dataChange=False))
    assert changes(builder, 2) == [(2, "cdc", "c")]


def merge(**metrics):
    names = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
    return {"operation": "MERGE", "operationMetrics": {**dict.fromkeys(names, "0"), **metrics}}


@pytest.mark.parametrize(
    ("info", "is_read"),
    [
        (merge(), False),
        (merge(numTargetRowsUpdated="1"), True),
        (merge(numTargetRowsDeleted=None), True),
        ({**merge(), "operation": "UPDATE"}, True),
        ({"operation": "MERGE"}, True),
    ],
)
def test_only_a_merge_that_says_that_it_changed_no_row_is_passed_over(info, is_read):
    builder = table().commit(add("a")).commit(gone("a"), add("b"), info=info)
    assert bool(changes(builder, 2)) == is_read


def test_a_merge_without_changed_rows_is_read_from_the_change_files_that_it_has():
    assert changes(table().commit(add("b"), cdc("c"), info=merge())) == [(1, "cdc", "c")]


def test_a_commit_without_provenance_is_read():
    builder = table().commit(add("a"))
    builder.write(file_names.commit_path(1), builder.store.read(file_names.commit_path(1)).split(b"\n")[1])
    assert changes(builder) == [(1, "insert", "a")]


def test_rows_that_are_deleted_in_a_file_do_not_come_and_go_with_it():
    builder = table().commit(add("a", **vector(1, 2))).commit(gone("a", **vector(1, 2)))
    assert rows_of(builder) == [("insert", "a", False, [1, 2]), ("delete", "a", False, [1, 2])]


def test_the_rows_of_a_first_vector_are_deletes():
    builder = table().commit(add("a")).commit(gone("a"), add("a", **vector(3, 4)))
    assert rows_of(builder, 2) == [("delete", "a", True, [3, 4])]


def test_the_rows_of_a_vector_that_goes_away_are_inserts():
    builder = table().commit(add("a", **vector(3, 4))).commit(gone("a", **vector(3, 4)), add("a"))
    assert rows_of(builder, 2) == [("insert", "a", True, [3, 4])]


def test_a_larger_vector_deletes_what_the_smaller_one_lacks():
    builder = table().commit(add("a", **vector(1))).commit(gone("a", **vector(1)), add("a", **vector(1, 5)))
    assert rows_of(builder, 2) == [("delete", "a", True, [5])]


def test_another_vector_deletes_some_rows_and_brings_others_back():
    builder = table().commit(add("a", **vector(1, 2))).commit(gone("a", **vector(1, 2)), add("a", **vector(2, 3)))
    assert rows_of(builder, 2) == [("delete", "a", True, [3]), ("insert", "a", True, [1])]


def test_the_facts_of_a_difference_are_those_of_the_file_that_is_added():
    builder = table().commit(add("a")).commit(remove("a"), add("a", size=12, **vector(3)))
    assert feed_of(builder, 2).files.select(["size", "deletion_vector", "except_vector"]).to_pylist() == [
        {
            "size": 12,
            "deletion_vector": {
                "storage_type": "i",
                "path_or_inline_dv": encode_inline([3]).path_or_inline_dv,
                "offset": None,
                "size_in_bytes": encode_inline([3]).size_in_bytes,
                "cardinality": 1,
            },
            "except_vector": None,
        }
    ]


@pytest.mark.parametrize("fields", [{}, vector(1)], ids=["no vector", "one vector"])
def test_a_file_that_is_removed_and_added_as_it_was_has_not_changed(fields):
    builder = table().commit(add("a", **fields)).commit(gone("a", **fields), add("a", **fields), add("b"))
    assert changes(builder, 2) == [(2, "insert", "b")]


def test_one_file_is_known_by_other_spellings_of_its_path():
    builder = table().commit(add("p q")).commit(gone("p%20q"), add("./p q", **vector(3)))
    assert rows_of(builder, 2) == [("delete", "./p q", True, [3])]


def test_a_file_that_one_commit_removes_and_another_one_adds_has_changed_as_a_whole():
    builder = table().commit(add("a")).commit(gone("a")).commit(add("a", **vector(3)))
    assert rows_of(builder, 2) == [("delete", "a", False, None), ("insert", "a", False, [3])]


def test_differences_are_found_in_each_commit_of_its_own():
    builder = table().commit(add("a")).commit(gone("a"), add("a", **vector(1)))
    builder.commit(gone("a", **vector(1)), add("a", **vector(1, 2))).commit(gone("a", **vector(1, 2)))
    deletes = [("delete", "a", True, [1]), ("delete", "a", True, [2]), ("delete", "a", False, [1, 2])]
    assert rows_of(builder, 2) == deletes


def test_vectors_in_files_of_the_table_are_read_from_its_store():
    data, (first, second) = encode_file([[1], [1, 2]], uuid.UUID(int=5), prefix="xy")
    builder = table().write(str(first.relative_path), data)
    old, new = ({"deletionVector": each.to_json()} for each in (first, second))
    builder.commit(add("a", **old)).commit(gone("a", **old), add("a", **new))
    assert rows_of(builder) == [("insert", "a", False, [1]), ("delete", "a", True, [2])]


def test_a_vector_file_that_is_gone_is_an_error_that_names_it():
    _, (lost,) = encode_file([[1]], uuid.UUID(int=5))
    builder = table().commit(add("a", deletionVector=lost.to_json()))
    feed = feed_of(builder)
    with pytest.raises(DeletionVectorError) as caught:
        feed.changed_rows()
    assert caught.value.getErrorClass() == "DELTA_DELETION_VECTOR_FILE_NOT_FOUND"
    assert caught.value.file == f"{builder.uri}/{lost.relative_path}"


ROWS = st.frozensets(st.integers(0, 9))


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.lists(ROWS, min_size=1, max_size=5))
def test_the_changes_of_vectors_add_up_to_the_last_one(states):
    builder = table().commit(add("a"))
    before = {}
    for state in states:
        after = vector(*state) if state else {}
        builder.commit(gone("a", **before), add("a", **after))
        before = after
    hidden = set()
    for kind, _, is_difference, rows in rows_of(builder, 2):
        assert is_difference
        assert rows
        assert hidden.isdisjoint(rows) if kind == "delete" else hidden.issuperset(rows)
        hidden.symmetric_difference_update(rows)
    assert hidden == set(states[-1])


def facts(builder, start):
    rows = feed_of(builder, start).files.select(["path", "size", "partition_values"]).to_pylist()
    return [(row["path"], row["size"], dict(row["partition_values"])) for row in rows]


DAY = {"partitionValues": {"day": "1"}}


def test_a_removed_file_without_facts_has_those_of_the_state_before_the_range():
    builder = table(partition_by=["day"]).commit(add("a", size=11, **DAY)).commit(remove("a"))
    assert facts(builder, 2) == [("a", 11, {"day": "1"})]


def test_a_removed_file_without_facts_has_those_of_its_add_in_the_range():
    builder = table(partition_by=["day"]).commit(add("a", size=11, dataChange=False, **DAY), cdc("c", **DAY))
    builder.commit(remove("a"), gone("b", **DAY))
    assert sorted(facts(builder, 2)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"})]
    assert sorted(facts(builder, 1)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"}), ("c", 7, {"day": "1"})]


def test_a_removed_file_with_a_size_and_no_partition_values_is_looked_up_where_the_table_is_partitioned():
    builder = table(partition_by=["day"]).commit(add("a", **DAY)).commit(remove("a", size=5, partitionValues={}))
    assert facts(builder, 2) == [("a", 100, {"day": "1"})]
    assert facts(table().commit(add("a")).commit(remove("a", size=5, partitionValues={})), 2) == [("a", 5, {})]


def test_what_an_add_or_a_change_file_does_not_say_is_not_looked_up():
    builder = table(partition_by=["day"]).commit(add("a")).commit(cdc("c"))
    assert facts(builder, 1) == [("a", 100, {}), ("c", 7, {})]


def test_a_removed_file_without_facts_has_those_of_the_first_version_that_is_left():
    builder = table(partition_by=["day"]).commit(add("a", size=11, **DAY)).commit(add("b", **DAY)).checkpoint()
    builder.commit(remove("a"))
    for version in (0, 1):
        builder.store.delete(file_names.commit_path(version))
    assert sorted(facts(builder, 2)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"})]


def test_a_removed_file_whose_facts_are_lost_is_an_error():
    builder = table(partition_by=["day"]).commit(remove("lost"))
    with pytest.raises(CorruptLogError) as caught:
        feed_of(builder)
    assert caught.value.getErrorClass() == "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA"
    assert (caught.value.version, caught.value.file, caught.value.num_files) == (1, "lost", 1)


def test_a_file_of_changes_without_its_size_is_an_error_and_not_a_file_without_rows():
    with pytest.raises(CorruptLogError) as caught:
        feed_of(table().commit(add("a")).commit(cdc("c", size=None)))
    assert (caught.value.version, caught.value.file) == (2, "c")
    assert "lacks the file's size" in str(caught.value)


def test_the_partition_values_of_the_files_are_given_by_column():
    feed = feed_of(table(partition_by=["day"]).commit(add("a", **DAY), add("b", partitionValues={"day": None})))
    assert sorted(feed.partition_texts()["day"].to_pylist(), key=str) == ["1", None]


def test_many_commits_are_read_in_order_whatever_is_held_at_once(monkeypatch):
    builder = table()
    for number in range(150):
        builder.commit(add(f"f{number}"))
    expected = [(number + 1, "insert", f"f{number}") for number in range(150)]
    assert changes(builder) == expected
    monkeypatch.setattr(change_files, "_FLUSH_FROM", 7)
    assert changes(builder) == expected


@pytest.mark.parametrize("kind", ["add", "remove", "cdc"])
def test_a_broken_file_action_is_an_error_that_names_the_commit(kind):
    builder = table().commit({kind: {"path": "a", "size": "large", "dataChange": True}})
    with pytest.raises(CorruptLogError) as caught:
        feed_of(builder)
    assert (caught.value.version, caught.value.file) == (1, file_names.commit_path(1))
    assert f"{kind} action" in str(caught.value)


@pytest.mark.parametrize("value", ["a", 1, []])
def test_a_file_action_that_is_no_object_is_an_error(value):
    with pytest.raises(CorruptLogError):
        feed_of(table().commit({"add": value}))


def test_a_commit_that_goes_away_while_it_is_read_is_an_error():
    builder = table().commit(add("a")).commit(add("b"))
    log = builder.log()
    read = log.store.read

    def lose(path):
        if path == file_names.commit_path(2):
            raise FileNotFoundError(path)
        return read(path)

    log.update()
    log.store.read = lose
    with pytest.raises(CorruptLogError) as caught:
        log.change_feed(ChangeBounds(starting_version=1))
    assert caught.value.version == 2


def test_the_feed_works_after_a_checkpoint_without_the_commits_before_it():
    builder = table().commit(add("a")).commit(add("b")).checkpoint().commit(remove("a"))
    builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))
    assert changes(builder, 3) == [(3, "delete", "a")]
    assert facts(builder, 3) == [("a", 100, {})]


def test_the_first_commit_of_a_table_can_be_the_first_of_the_feed():
    builder = TableBuilder(store=MemoryStore()).create(configuration=FEED, actions=[add("a")])
    assert changes(builder, 0) == [(0, "insert", "a")]


def test_a_feed_stays_as_it_is_when_the_table_goes_on():
    builder = table().commit(add("a"))
    log = builder.log()
    feed = log.change_feed(ChangeBounds(starting_version=0))
    builder.commit(metadata({"id": "long", "day": "string", "new": "long"}, configuration=FEED)).commit(add("b"))
    assert (feed.end, feed.snapshot.version, feed.files["path"].to_pylist()) == (1, 1, ["a"])
    later = log.change_feed(ChangeBounds(starting_version=0))
    assert (later.end, later.schema.names[2]) == (3, "new")
