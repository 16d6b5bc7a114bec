# SPDX-License-Identifier: Apache-2.0
"""What each command says about a table."""

from __future__ import annotations

import pytest
from tests.core.cli.conftest import add

from bayou import __version__
from bayou.protocol.actions.file_names import commit_path
from bayou.testing.table_builder import TableBuilder
from bayou.testing.table_builder import add as builder_add


def test_history_shows_the_newest_commit_first(bayou_command, table):
    header, *rows = bayou_command("history", table).lines
    assert header.split() == ["version", "timestamp", "operation", "parameters", "metrics", "engine"]
    assert [row.split()[0] for row in rows] == ["2", "1", "0"]
    assert "WRITE" in rows[0]
    assert "mode=Append" in rows[0]
    assert "numFiles=1" in rows[1]
    assert "test/1" in rows[1]


def test_history_stops_at_the_limit(bayou_command, table):
    assert [row["version"] for row in bayou_command("history", table, "--limit", "2", "--json").json] == [2, 1]


def test_history_of_a_version_begins_there(bayou_command, table):
    rows = bayou_command("history", table, "--version", "1", "--limit", "1", "--json").json
    assert [row["version"] for row in rows] == [1]


def test_history_as_json_has_the_names_of_describe_history(bayou_command, table):
    row = bayou_command("history", table, "--json").json[1]
    assert list(row) == [
        "version",
        "timestamp",
        "userId",
        "userName",
        "operation",
        "operationParameters",
        "job",
        "notebook",
        "clusterId",
        "readVersion",
        "isolationLevel",
        "isBlindAppend",
        "operationMetrics",
        "userMetadata",
        "engineInfo",
    ]
    assert row["operationMetrics"] == {"numFiles": "1"}
    assert row["timestamp"].endswith("Z")


def test_detail_names_the_table_and_counts_its_files(bayou_command, table):
    (row,) = bayou_command("detail", table, "--json").json
    assert row["name"] == "orders"
    assert row["version"] == 2
    assert row["numFiles"] == 3
    assert row["sizeInBytes"] == 3 * 2048
    assert row["partitionColumns"] == ["day"]
    assert row["properties"] == {"delta.checkpointInterval": "10"}
    assert row["createdAt"] == "2020-09-13T12:26:40.000Z"
    assert row["tableFeatures"] == ["appendOnly", "invariants"]


def test_detail_prints_a_line_for_each_fact(bayou_command, table):
    lines = [" ".join(line.split()) for line in bayou_command("detail", table, "--version", "1").lines]
    assert "numFiles 1" in lines
    assert "properties delta.checkpointInterval = 10" in lines
    assert "description -" in lines


def test_detail_gives_clustering_columns_their_logical_names(bayou_command, writer):
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["point","x"]]}', "removed": False}
    writer.create().commit(1, {"domainMetadata": domain})
    assert bayou_command("detail", writer.path, "--json").json[0]["clusteringColumns"] == ["point.x"]


def test_schema_lists_columns_and_the_fields_of_structs(bayou_command, table):
    assert bayou_command("schema", table).lines == [
        "column      type           nullable  remarks",
        "id          long           no        the key",
        "day         date           yes       partition column",
        "point       struct         yes",
        "point.x     double         yes",
        "point.tags  array<string>  yes",
    ]


def test_schema_as_json_is_the_schema_of_the_log(bayou_command, table):
    (schema,) = bayou_command("schema", table, "--json").json
    assert [field["name"] for field in schema["fields"]] == ["id", "day", "point"]


def test_files_lists_the_live_files(bayou_command, table):
    header, *rows = bayou_command("files", table).lines
    assert header.split() == ["size", "rows", "deleted", "partition", "path"]
    assert rows[0].split() == ["2048", "10", "-", "day=2026-01-01", "day=2026-01-01/a.parquet"]
    assert len(rows) == 3


def test_a_null_partition_is_shown_under_the_name_of_its_folder(bayou_command, writer):
    writer.create().commit(1, add("a", day=None), add("b"))
    rows = [line.split()[3] for line in bayou_command("files", writer.path).lines[1:]]
    assert rows == ["day=__HIVE_DEFAULT_PARTITION__", "day=2026-01-01"]


def test_files_of_an_earlier_version_stop_at_the_limit(bayou_command, table):
    assert len(bayou_command("files", table, "--version", "1", "--json").json) == 1
    assert len(bayou_command("files", table, "--limit", "2", "--json").json) == 2


def test_files_as_json_are_add_actions(bayou_command, table):
    row = bayou_command("files", table, "--json").json[2]
    assert row == {
        "path": "day=2026-01-02/c.parquet",
        "partitionValues": {"day": "2026-01-01"},
        "size": 2048,
        "modificationTime": "2023-11-14T22:13:20.000Z",
        "stats": {"numRecords": 7},
        "deletionVector": None,
    }


def test_log_shows_the_segment_and_what_the_hint_said(bayou_command, table, writer):
    hint = writer.folder / "_delta_log" / "_last_checkpoint"
    hint.write_text('{"version":1,"size":3}', encoding="utf-8")
    lines = bayou_command("log", table).lines
    assert lines[1:4] == [
        "version           2",
        "starts            at the first commit",
        "_last_checkpoint  version 1, size 3",
    ]
    assert [line.split()[0] for line in lines[6:]] == ["commit", "commit", "commit"]
    assert lines[-1].endswith("_delta_log/00000000000000000002.json")


@pytest.mark.parametrize(("text", "said"), [(None, "is not there"), ("", "is not valid: ''"), ("[1]", "is not valid: '[1]'")])
def test_log_says_when_the_hint_is_of_no_use(bayou_command, table, writer, text, said):
    if text is not None:
        (writer.folder / "_delta_log" / "_last_checkpoint").write_text(text, encoding="utf-8")
    assert f"_last_checkpoint  {said}" in bayou_command("log", table).out


def test_log_as_json_is_one_document(bayou_command, table):
    (document,) = bayou_command("log", table, "--json").json
    assert document["version"] == 2
    assert document["lastCheckpoint"] is None
    assert [file["versions"] for file in document["files"]] == ["0", "1", "2"]
    assert all(file["size"] > 0 for file in document["files"])


def test_log_names_checkpoints_and_their_sidecars(bayou_command, corpora):
    path = corpora / "delta-rs" / "data" / "checkpoint-v2-table"
    (document,) = bayou_command("log", str(path), "--json").json
    assert [file["kind"] for file in document["files"]] == ["V2 checkpoint", "sidecar", "commit", "checksum"]


@pytest.mark.parametrize("command", ["history", "detail", "schema", "files", "log"])
def test_a_version_may_stand_at_the_end_of_the_path(bayou_command, table, command):
    wanted = bayou_command(command, table, "--version", "1", "--json")
    assert wanted.code == 0
    assert bayou_command(command, f"{table}@v1", "--json").out == wanted.out


def test_the_version_of_bayou_is_printed(bayou_command):
    assert __version__ in bayou_command("--version").out


def test_without_arguments_there_is_help(bayou_command):
    result = bayou_command()
    assert result.code == 0
    assert "history" in result.out


@pytest.mark.parametrize("text", ["", "nonsense", '{"metaData":{'])
def test_history_before_a_broken_last_commit_is_shown_with_a_warning(bayou_command, table, writer, text):
    (writer.folder / "_delta_log" / f"{3:020d}.json").write_text(text)
    (writer.folder / "_delta_log" / "_last_checkpoint").mkdir()
    found = bayou_command("history", table, "--json")
    assert (found.code, [row["version"] for row in found.json]) == (0, [2, 1, 0])
    assert "warning: version 2 is the latest that can be read: " in found.err
    assert f"{3:020d}.json" in found.err
    assert found.err.count("\n") == 1
    assert [row["version"] for row in bayou_command("history", table, "--json", "--limit", "1").json] == [2]
    older = bayou_command("history", table, "--json", "--version", "1")
    assert (older.code, older.err, [row["version"] for row in older.json]) == (0, "", [1, 0])
    assert bayou_command("files", table).code == 1


def test_history_of_a_version_goes_on_before_a_checkpoint_whose_commit_is_gone(bayou_command, tmp_path):
    builder = TableBuilder(tmp_path / "t").create()
    for number in range(10):
        builder.commit(builder_add(f"f{number}"))
    builder.checkpoint(version=5).delete(commit_path(5))
    path = str(tmp_path / "t")
    assert [row["version"] for row in bayou_command("history", path, "--json").json] == [10, 9, 8, 7, 6, 4, 3, 2, 1, 0]
    for version in (3, 5, 7):
        found = bayou_command("history", path, "--json", "--version", str(version), "--limit", "2")
        assert [row["version"] for row in found.json] == [each for each in range(version, -1, -1) if each != 5][:2]


@pytest.mark.parametrize("what", ["folder", "link"])
def test_log_goes_on_where_the_hint_cannot_be_read(bayou_command, table, writer, what):
    hint = writer.folder / "_delta_log" / "_last_checkpoint"
    if what == "folder":
        hint.mkdir()
    else:
        hint.symlink_to(hint)
    for command in ("log", "detail", "history", "files", "schema"):
        assert bayou_command(command, table).code == 0
    assert "cannot be read: " in bayou_command("log", table).out
    assert "cannot be read: " in bayou_command("log", table, "--json").json[0]["lastCheckpoint"]
