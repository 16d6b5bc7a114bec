# SPDX-License-Identifier: Apache-2.0
"""What a terminal and a notebook show of a log and a snapshot, without a request to the store."""

from __future__ import annotations

import pytest

from bayou.storage import LocalStore
from bayou.testing.table_builder import TableBuilder, add

REQUESTS = ("list_from", "read", "open", "size")


@pytest.fixture
def table(tmp_path):
    columns = {"id": "long", "<b>day</b>": "string"}
    table = TableBuilder(tmp_path / "orders").create(columns, partition_by=["<b>day</b>"], configuration={"team": "a&b"})
    return table.commit(add("a.parquet", partitionValues={"<b>day</b>": "1"}))


@pytest.fixture
def disconnect(monkeypatch):
    """Makes each request to a store fail."""

    def fail(*_arguments, **_options):
        raise AssertionError("a request to the store")

    return lambda: [monkeypatch.setattr(LocalStore, name, fail) for name in REQUESTS]


def test_the_text_of_a_log_has_the_version_that_was_read(table, disconnect):
    log = table.log()
    assert repr(log) == f"DeltaLog({table.uri!r})"
    log.snapshot()
    disconnect()
    assert repr(log) == f"DeltaLog({table.uri!r}, version=1)"


def test_the_text_of_a_snapshot_has_its_path_and_version(table):
    assert repr(table.log().snapshot(version=0)) == f"Snapshot({table.uri!r}, version=0)"


def test_no_text_has_a_secret_of_the_path():
    log = TableBuilder("s3://key:secret@bucket/t", store=LocalStore("/nowhere")).log()
    for text in (repr(log), log._repr_html_()):
        assert "secret" not in text
        assert "bucket/t" in text


def test_no_text_has_a_secret_of_the_properties(tmp_path):
    configuration = {"source": "s3a://key:hidden@bucket/raw"}
    snapshot = TableBuilder(tmp_path / "t").create(configuration=configuration).log().snapshot()
    assert "bucket/raw" in snapshot._repr_html_()
    assert "hidden" not in snapshot._repr_html_()


def test_a_snapshot_with_an_invalid_schema_has_a_text(tmp_path):
    table = TableBuilder(tmp_path / "t").create()
    path = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"schemaString":"', '"schemaString":"{'), encoding="utf-8")
    assert "version" in table.log().snapshot()._repr_html_()


def test_a_notebook_shows_a_snapshot_without_a_request(table, disconnect):
    snapshot = table.log().snapshot()
    disconnect()
    shown = snapshot._repr_html_()
    assert "id, &lt;b&gt;day&lt;/b&gt;" in shown
    assert "team = a&amp;b" in shown
    facts = snapshot.facts_in_memory()
    assert facts["version"] == "1"
    assert facts["partitioned by"] == "<b>day</b>"
    assert facts["files"] is facts["size"] is None


def test_counts_that_were_read_are_shown(table, disconnect):
    snapshot = table.log().snapshot()
    assert (snapshot.num_files, snapshot.size_bytes) == (1, 100)
    disconnect()
    facts = snapshot.facts_in_memory()
    assert (facts["files"], facts["size"]) == ("1", "100 B")


def test_a_wide_table_counts_its_last_columns(tmp_path):
    table = TableBuilder(tmp_path / "wide").create({f"c{number}": "long" for number in range(1_012)})
    assert table.log().snapshot().facts_in_memory()["columns"].endswith("c11 and 1,000 more")


def test_a_notebook_shows_a_log_before_and_after_its_first_read(table, disconnect):
    log = table.log()
    assert "version" not in log._repr_html_()
    log.snapshot()
    disconnect()
    assert "version" in log._repr_html_()
