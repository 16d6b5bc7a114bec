# SPDX-License-Identifier: Apache-2.0
"""What a check returns: places, writers, numbers and exit codes."""

from __future__ import annotations

import json
import threading

import pytest
from tests.core.checks.building import COMMIT, HINT, OLD, add, cdc, found, log, metadata, remove, table

import bayou
from bayou.checks.report import Report
from bayou.checks.row_counts import RowCounts
from bayou.checks.rule import Severity
from bayou.checks.rules import RULES
from bayou.checks.run import check_store
from bayou.errors import StorageError, TableNotFoundError
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder
from bayou.testing.table_builder import add as add_file


def only(report, rule):
    (finding,) = [each for each in report.findings if each.rule == rule]
    return finding


def test_a_finding_names_file_line_action_and_writer():
    finding = only(found(table(add(), later=[[add("b.parquet", size=-1)]])), "file-size")
    assert (finding.file, finding.line, finding.action, finding.writer) == (COMMIT.format(1), 2, "add", "writer/1")
    assert finding.place == f"{COMMIT.format(1)}:2"
    assert (finding.severity, finding.section) == (Severity.BROKEN, "Add File and Remove File")
    assert finding.detail == "the size of b.parquet is -1"


def test_a_finding_in_a_checkpoint_names_its_row_and_its_library():
    report = found(table(add(size=-1)).checkpoint())
    (finding,) = [each for each in report.findings if each.rule == "file-size" and each.file.endswith(".checkpoint.parquet")]
    assert (finding.line, finding.action) == (3, "add")
    assert finding.writer.startswith("parquet-cpp-arrow")


def test_a_report_is_a_line_in_python_and_a_table_in_a_notebook():
    report = found(table(add(size=-1), cdc()))
    assert repr(report) == f"Report({report.table!r}, version=0, broken=1, risky={len(report.risky)}, odd={len(report.odd)})"
    shown = report._repr_html_()
    assert "at version 0: 1 broken" in shown
    assert all(text in shown for each in report.findings for text in (each.rule, each.place))


def test_many_places_of_a_rule_are_counted():
    report = found(table(*(add(f"{number}.parquet", size=-1) for number in range(8))))
    places = [each for each in report.findings if each.rule == "file-size"]
    assert [each.more for each in places] == [0, 0, 0, 0, 3]
    assert report.counts["broken"] == 8
    assert [each.severity for each in report.broken] == [Severity.BROKEN] * len(report.broken) != []
    assert (*report.broken, *report.risky, *report.odd) == report.findings


@pytest.mark.parametrize(
    ("actions", "code"), [([add()], 0), ([cdc(), add()], 1), ([add(size=-1), cdc()], 2), ([add(modificationTime=-1)], 0)]
)
def test_the_exit_code_is_that_of_the_worst_finding(actions, code):
    assert found(table(*actions)).exit_code == code


def test_the_worst_findings_come_first():
    report = found(table(add(modificationTime=-1), cdc(), remove("z.parquet", deletionTimestamp=None), add("b.parquet", size=-1)))
    severities = [each.severity for each in report.findings]
    assert severities == sorted(severities, reverse=True)
    assert len(set(severities)) == 3


def test_a_report_is_one_json_document():
    report = found(table(add(size=-1)))
    document = json.loads(json.dumps(report.to_json()))
    assert (document["version"], document["counts"]) == (0, {"broken": 1, "risky": 0, "odd": 0})
    assert document["findings"][0]["severity"] == "broken"
    assert document["findings"][0].keys() == {
        *("severity", "rule", "section", "text", "detail", "file", "line", "action", "writer", "more")
    }


def test_a_report_is_shown_line_by_line():
    lines = str(found(table(add(size=-1)))).splitlines()
    assert lines[0].endswith("at version 0: 1 findings")
    assert lines[1] == f"broken: file-size at {COMMIT.format(0)}:4: the size of a.parquet is -1"


def test_rules_about_files_and_footers_run_on_request():
    without = found(table(add()))
    assert without.rules < found(table(add()), files=True).rules < len(RULES)
    assert found(table(add()), files=True, footers=True).rules < len(RULES)
    assert found(table(add()), files=True, footers=True, count_rows=lambda *_: RowCounts()).rules == len(RULES)
    assert without.findings == ()


def test_a_folder_without_a_log_is_not_a_table(tmp_path):
    with pytest.raises(TableNotFoundError):
        bayou.check(tmp_path)


def test_a_log_without_commits_is_checked():
    report = found(TableBuilder(store=MemoryStore()).write("_delta_log/00000000000000000003.crc", "{}"))
    assert isinstance(report, Report)
    assert report.version == -1


def test_a_table_on_disk_is_checked(tmp_path):
    TableBuilder(tmp_path / "a b").create({"id": "long"}, actions=[add("a%20b.parquet")]).write("a b.parquet", "0123456789")
    assert bayou.check(tmp_path / "a b", files=True).findings == ()


def test_a_file_outside_the_table_is_found(tmp_path):
    (tmp_path / "out.parquet").write_text("0123456789", encoding="utf-8")
    builder = TableBuilder(tmp_path / "table").create({"id": "long"}, actions=[add((tmp_path / "out.parquet").as_uri())])
    assert bayou.check(tmp_path / "table", files=True).findings == ()
    (tmp_path / "out.parquet").unlink()
    assert [each.rule for each in bayou.check(builder.uri, files=True).findings] == ["data-file-exists"]


def test_a_report_shows_no_secret_of_a_uri():
    builder = table(add())
    assert check_store("s3a://key:secret@bucket/t", builder.store, {}).table == "s3a://bucket/t"


def test_a_check_changes_nothing():
    builder = log([OLD, metadata(), add(size=-1)]).write(HINT, "{}")
    before = {each.path: builder.store.read(each.path) for each in builder.store.list_from("_delta_log/")}
    found(builder, files=True, footers=True)
    assert {each.path: builder.store.read(each.path) for each in builder.store.list_from("_delta_log/")} == before


def test_a_store_that_fails_is_an_error_and_not_a_finding():
    builder = TableBuilder().create().commit(add_file("a.parquet"))
    builder.store.put("a.parquet", b"anything")
    store = FaultyStore(builder.store, [Fault("open", r"a\.parquet$", "before")])
    with pytest.raises(StorageError):
        check_store(builder.uri, store, {}, footers=True)


def test_the_files_of_a_log_are_read_concurrently():
    builder = TableBuilder().create()
    for _ in range(9):
        builder.commit()
    together = threading.Barrier(10, timeout=30)
    store = FaultyStore(builder.store, [Fault("read", r"\d\.json$", "hook", hook=lambda *_: together.wait(), times=10)])
    assert check_store(builder.uri, store, {}).version == 9


def test_a_hint_that_is_no_json_is_named_so():
    assert "Expecting" in only(found(table().write(HINT, '{"version": 12')), "hint-json").detail


def test_a_notebook_shows_the_findings_as_rows():
    shown = found(table(add(size=-1)))._repr_html_()
    assert "1 broken" in shown
    assert "the size of a.parquet is -1" in shown
