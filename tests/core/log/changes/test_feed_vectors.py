# SPDX-License-Identifier: Apache-2.0
"""Changes of deletion vectors in a change feed: which rows they delete, and which they bring back."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.changes.change_feeds import changes, feed_of, table
from tests.support.tables.feed_actions import gone, vector

from bayou.errors import DeletionVectorError
from bayou.protocol.deletion_vectors.descriptor import encode_file, encode_inline
from bayou.testing.table_builder import add, remove


def rows_of(builder, start=1):
    """(kind, path, whether the rows are a difference, the rows) of each file to read."""
    found = feed_of(builder, start).changed_rows()
    files = found.files.select(["kind", "path", "is_difference"]).to_pylist()
    rows = [None if each is None else each.to_list() for each in found.rows]
    return [(*file.values(), row) for file, row in zip(files, rows, strict=True)]


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
