# SPDX-License-Identifier: Apache-2.0
"""What no commit may do with deletion vectors: one file live twice, and rows that come back."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.core.log.commit.refused_commits import FIRST, SECOND, VECTORS, live, marked, refused, table

from bayou.errors import InvalidCommitError
from bayou.log.commit.outcomes import Committed
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.testing.table_builder import TableBuilder


def test_a_file_may_change_its_vector_by_a_remove_and_an_add():
    builder = table(VECTORS, vector=FIRST)
    assert builder.log().transaction("DELETE").commit([RemoveFile("a", deletion_vector=FIRST), marked("a", SECOND)]).version == 2
    with builder.log().transaction("DELETE") as transaction:
        files = transaction.files()
        transaction.remove_files(files.filter(pa.compute.equal(files["path"], "a")))
        assert transaction.commit([marked("a", FIRST)]).version == 3
    assert live(builder) == {"a": 6, "b": None}


def test_a_file_that_stays_live_with_another_vector_is_not_added():
    builder = table(VECTORS, vector=FIRST)
    error = refused(builder, marked("a", SECOND))
    assert error.file == "a"
    assert FIRST.unique_id in error.message
    assert error.getErrorClass() == "DELTA_DUPLICATE_ACTIONS_FOUND"
    # New statistics of a file are one action more for the same file, not a second file.
    statistics = AddFile("a", {}, 1, 1, data_change=False, stats='{"numRecords":10}')
    assert "without a deletion vector" in refused(builder, statistics).message
    assert builder.log().transaction("COMPUTE STATS").commit([replace(marked("a", FIRST), data_change=False)]) == Committed(2, 1)
    assert live(builder) == {"a": 6, "b": None}


def test_a_remove_that_names_another_vector_than_the_file_has_is_refused():
    builder = table(VECTORS, vector=FIRST)
    for wrong in (RemoveFile("a"), RemoveFile("./a", deletion_vector=SECOND), RemoveFile("b", deletion_vector=FIRST)):
        error = refused(builder, wrong)
        assert error.getErrorClass() == "DELTA_FILE_TO_OVERWRITE_NOT_FOUND"
        assert "remove_files" in error.next_step
    # What is not live is nobody's business here.
    assert builder.log().transaction("DELETE").commit([RemoveFile("a", deletion_vector=FIRST), RemoveFile("gone")]).version == 2
    assert live(builder) == {"b": None}


def test_the_documented_way_to_delete_files_removes_those_with_vectors():
    builder = table(VECTORS, vector=FIRST)
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        transaction.commit()
    assert live(builder) == {}


@pytest.fixture
def marked_table(tmp_path):
    builder = TableBuilder(tmp_path).create({"x": "long"}, protocol=VECTORS, configuration={"delta.enableDeletionVectors": "true"})
    pq.write_table(pa.table({"x": list(range(10))}), tmp_path / "p.parquet")
    builder.log().append(["p.parquet"])
    changed = [RemoveFile("p.parquet"), marked("p.parquet", FIRST)]
    builder.log().transaction("DELETE").commit(changed)
    return builder


def test_a_loader_that_runs_again_does_not_bring_deleted_rows_back(marked_table):
    with pytest.raises(InvalidCommitError, match="deletion vector"):
        marked_table.log().append(["p.parquet"])
    assert live(marked_table) == {"p.parquet": 6}


def test_deleted_rows_come_back_where_the_file_is_removed_in_the_same_commit(marked_table):
    with marked_table.log().transaction("RESTORE") as transaction:
        transaction.add_files(["p.parquet"])
        transaction.remove_files(transaction.files())
        transaction.commit()
    assert live(marked_table) == {"p.parquet": None}


def test_a_file_is_appended_again_where_it_has_no_vector(tmp_path):
    builder = TableBuilder(tmp_path).create({"x": "long"}, protocol=VECTORS)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "p.parquet")
    builder.log().append(["p.parquet"])
    assert builder.log().append(["p.parquet"]).version == 2
    assert live(builder) == {"p.parquet": None}


def test_an_append_of_new_files_reads_no_list_of_files(tmp_path):
    for protocol in (None, VECTORS):
        builder = TableBuilder(tmp_path / str(protocol is None)).create({"x": "long"}, protocol=protocol).checkpoint()
        transaction = builder.log().transaction("WRITE")
        transaction.commit([AddFile("new", {}, 1, 1)])
        assert not transaction.snapshot.source.has_state
    pq.write_table(pa.table({"x": [1]}), tmp_path / "True" / "p.parquet")
    transaction = TableBuilder(tmp_path / "True").log().transaction("WRITE")
    transaction.add_files(["p.parquet"])
    transaction.commit()
    assert not transaction.snapshot.source.has_state
