# SPDX-License-Identifier: Apache-2.0
"""Repairs: on a broken copy for each rule `check` finds nothing afterwards, commits are as before, and no row is lost unasked."""

from __future__ import annotations

import contextlib
import json
import re

import pyarrow as pa
import pytest
from tests.core.checks import cases_of_actions, cases_of_features, cases_of_files, cases_of_logs
from tests.core.checks.building import (
    CHECKPOINT,
    CHECKSUM,
    COMMIT,
    HINT,
    OLD,
    add,
    checkpoint,
    field,
    found,
    log,
    metadata,
    parquet,
    table,
)

from bayou.checks.rule import Severity
from bayou.checks.rules import RULES
from bayou.errors import InvalidOptionError, StorageError
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.fsck import OPERATION
from bayou.repairs.repair import OF_ANY_FILE, REPAIRS, Repair
from bayou.repairs.run import repair_store
from bayou.testing.faulty_store import Fault, FaultyStore

CASES = cases_of_logs.CASES | cases_of_actions.CASES | cases_of_features.CASES | cases_of_files.CASES
HEADS = [OLD, metadata()]
LOG_ONLY = [rule for rule, repair in REPAIRS.items() if not repair.commits]
# The cases of these rules have a checkpoint or a compacted file with a data file that no commit adds.
AMBIGUOUS = ("checkpoint-files-equal-commits", "compaction-equals-commits")
COMMITTING = [rule for rule, repair in REPAIRS.items() if repair.commits]


def looks(rule):
    return {"footers": True} if rule.startswith("footer") else {"files": True}


def repaired(builder, **options):
    return repair_store(builder.uri, builder.store, {}, **options)


def content(store):
    return {each.path: store.read(each.path) for each in store.list_from("_delta_log/")}


def commits(store):
    return {path: data for path, data in content(store).items() if re.fullmatch(r"_delta_log/\d{20}\.json", path)}


def live(builder):
    return sorted(DeltaLog(builder.uri, builder.store).update().files()["path"].to_pylist())


def states(result):
    return [(each.repair, bool(each.blocked), each.done) for each in result.steps]


def findings(report):
    return [(each.rule, each.detail) for each in report.findings if each.severity > Severity.ODD]


@pytest.mark.parametrize("rule", [rule for rule in LOG_ONLY if rule not in AMBIGUOUS])
def test_a_repair_of_the_log_leaves_nothing_broken_and_loses_nothing(rule):
    builder = CASES[rule].build(CASES[rule].broken)
    before = commits(builder.store)
    result = repaired(builder)
    assert all(each.done for each in result.steps)
    assert rule in {each for step in result.steps for each in step.rules}
    assert [each.rule for each in result.after.findings if each.severity > Severity.ODD or each.rule == rule] == []
    assert commits(builder.store) == before
    expected = CASES[rule].build(CASES[rule].broken)
    for path in content(expected.store).keys() - before.keys():
        expected.store.delete(path)
    assert live(builder) == live(expected)


@pytest.mark.parametrize("rule", COMMITTING)
def test_a_repair_by_a_commit_leaves_nothing_broken(rule):
    builder = CASES[rule].build(CASES[rule].broken)
    before = commits(builder.store)
    result = repaired(builder, **looks(rule), allow_loss=True)
    assert all(each.done for each in result.steps)
    assert findings(result.after) == []
    after = commits(builder.store)
    assert len(after) == len(before) + 1
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize("rule", [rule for rule in COMMITTING if REPAIRS[rule].loses_rows])
def test_rows_are_lost_only_if_it_is_allowed(rule):
    builder = CASES[rule].build(CASES[rule].broken)
    before, files = content(builder.store), live(builder)
    result = repaired(builder, **looks(rule))
    assert states(result) == [(Repair.FILES, True, False)]
    assert "--allow-loss" in result.steps[0].blocked
    assert result.lost.files["dataFilePath"].to_pylist() == files
    assert result.lost.version is None
    assert content(builder.store) == before


@pytest.mark.parametrize("rule", REPAIRS)
def test_a_dry_run_changes_nothing(rule):
    builder = CASES[rule].build(CASES[rule].broken)
    before = content(builder.store)
    result = repaired(builder, **looks(rule), allow_loss=True, dry_run=True)
    assert result.after is None
    assert result.steps
    assert not any(each.done or each.blocked for each in result.steps)
    assert content(builder.store) == before


def test_each_name_is_of_a_rule():
    assert REPAIRS.keys() | OF_ANY_FILE <= {each.id for each in RULES}


def test_a_sound_table_has_nothing_to_repair():
    builder = table(add()).write("a.parquet", "0123456789")
    before = content(builder.store)
    result = repaired(builder, files=True)
    assert (result.steps, result.lost, result.without_repair) == ((), None, ())
    assert content(builder.store) == before


def test_a_replaced_file_has_no_findings_left():
    result = repaired(table(add()).write(CHECKSUM.format(0), '{"numFiles": 3}'), dry_run=True)
    assert {each.rule for each in result.before.findings} > {"checksum-totals"} == {*result.steps[0].rules}
    assert result.without_repair == ()


def test_a_finding_in_a_commit_has_no_repair():
    builder = table().write(COMMIT.format(1), "x")
    before = content(builder.store)
    result = repaired(builder)
    assert {each.rule for each in result.without_repair} >= {"log-json"}
    assert result.steps == ()
    assert content(builder.store) == before


def test_a_broken_line_in_a_checkpoint_is_repaired_with_the_checkpoint():
    path = "_delta_log/00000000000000000000.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    builder = log([*cases_of_logs.HEADS_V2, add()]).write(path, "x")
    result = repaired(builder)
    assert "log-json" in result.steps[0].rules
    assert states(result) == [(Repair.CHECKPOINT, False, True)]
    assert findings(result.after) == []


def test_a_checkpoint_that_the_table_needs_is_kept():
    builder = checkpoint(
        log(HEADS, [add()], [add("b.parquet")]), *HEADS, add(), {"txn": {"appId": "x", "version": 1}}, add(), version=1
    )
    for version in (0, 1):
        builder.delete(COMMIT.format(version))
    before = content(builder.store)
    result = repaired(builder)
    assert states(result) == [(Repair.CHECKPOINT, True, False)]
    assert "only" in result.steps[0].blocked
    assert content(builder.store) == before


@pytest.mark.parametrize("rule", AMBIGUOUS)
def test_a_file_that_only_a_checkpoint_names_leaves_the_table_only_if_it_is_allowed(rule):
    builder = CASES[rule].build(CASES[rule].broken)
    before, files = content(builder.store), live(builder)
    for name in "abc":
        builder.write(f"{name}.parquet", "0123456789")
    result = repaired(builder, files=True)
    assert states(result) == [(result.steps[0].repair, True, False)]
    assert "would lose 1 data file" in result.steps[0].blocked
    assert result.to_json()["steps"][0]["losesRows"]
    assert content(builder.store) == before
    result = repaired(builder, allow_loss=True)
    assert findings(result.after) == []
    assert live(builder) != files


def lacking(builder, version, path):
    """The table, after a commit lost the action of a file."""
    lines = builder.store.read(COMMIT.format(version)).decode().splitlines()
    return builder.write(COMMIT.format(version), "\n".join(line for line in lines if path not in line) + "\n")


@pytest.mark.parametrize("damaged", ["commit", "first checkpoint"])
def test_the_checkpoints_that_are_right_are_kept(damaged):
    """Nothing in the log says whether a commit lost an action, or a checkpoint has one too many. Readers use the checkpoint."""
    adds = [add(f"{number}.parquet") for number in range(6)]
    builder = log([*HEADS, adds[0]], *([each] for each in adds[1:]))
    checkpoint(builder, *HEADS, *(adds[:2] if damaged == "first checkpoint" else adds[:3]), version=2)
    checkpoint(builder, *HEADS, *adds[:5], version=4)
    if damaged == "commit":
        lacking(builder, 1, "1.parquet")
    else:
        for version in range(3):
            builder.delete(COMMIT.format(version))
    before, files = content(builder.store), live(builder)
    assert len(files) == 6
    result = repaired(builder)
    assert all(each.blocked for each in result.steps if each.repair is Repair.CHECKPOINT)
    assert live(builder) == files
    assert before.items() <= content(builder.store).items()


def test_versions_before_a_gap_are_kept():
    adds = [add(f"{number}.parquet") for number in range(6)]
    builder = log([*HEADS, adds[0]], *([each] for each in adds[1:]))
    checkpoint(builder, *HEADS, *adds[:2], adds[0], version=1)
    checkpoint(builder, *HEADS, *adds[:5], version=4)
    for version in (0, 1, 3):
        builder.delete(COMMIT.format(version))
    before = content(builder.store)
    result = repaired(builder)
    assert states(result) == [(Repair.CHECKPOINT, True, False)]
    assert content(builder.store) == before


def test_the_schema_of_a_version_changes_only_if_it_is_allowed():
    builder = checkpoint(log([*HEADS, add()]), OLD, metadata(field("id"), field("more")), add(), version=0)
    before = content(builder.store)
    result = repaired(builder)
    assert "The schema of version 0 would change." in result.steps[0].blocked
    assert content(builder.store) == before


@pytest.mark.parametrize("nth", range(1, 40))
def test_a_store_that_fails_for_a_moment_does_not_make_a_version_look_unreadable(nth):
    """A checkpoint that the rest of the log contradicts may only be deleted after both states of its version were compared."""
    adds = [add(f"{number}.parquet") for number in range(3)]
    builder = lacking(checkpoint(log([*HEADS, adds[0]], [adds[1]], [adds[2]]), *HEADS, *adds, version=2), 1, "1.parquet")
    before, files = content(builder.store), live(builder)
    with contextlib.suppress(StorageError):
        result = repair_store(builder.uri, FaultyStore(builder.store, [Fault(None, CHECKPOINT.format(2), nth=nth)]), {})
        assert [each.repair for each in result.steps if each.done] == []
    assert before.items() <= content(builder.store).items()
    assert live(builder) == files


@pytest.mark.parametrize("flag", ["files", "footers", "allow_loss", "dry_run"])
def test_a_flag_is_true_or_false(flag):
    builder = table(add())
    before = content(builder.store)
    with pytest.raises(InvalidOptionError, match=flag):
        repaired(builder, **{flag: "false"})
    assert content(builder.store) == before


def test_files_leave_the_log_before_statistics_are_computed():
    data = parquet({"id": pa.array([1, 2], pa.int64())})
    stats = {"numRecords": 2, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}
    builder = table(add(size=len(data), stats=stats), add("gone.parquet")).write("a.parquet", data)
    result = repaired(builder, footers=True)
    assert states(result) == [(Repair.STATISTICS, True, False), (Repair.FILES, True, False)]
    result = repaired(builder, footers=True, allow_loss=True)
    assert all(each.done for each in result.steps)
    assert findings(result.after) == []
    assert live(builder) == ["a.parquet"]


def test_a_table_that_accepts_only_appends_keeps_its_files():
    builder = log([OLD, metadata(config={"delta.appendOnly": "true"}), add()]).write(HINT, "{")
    result = repaired(builder, allow_loss=True)
    assert states(result) == [(Repair.HINT, False, True), (Repair.FILES, True, False)]
    assert "delta.appendOnly" in result.steps[1].blocked
    assert live(builder) == ["a.parquet"]


def test_a_wrong_checkpoint_does_not_spoil_the_one_that_replaces_it():
    builder = checkpoint(log([*HEADS, add()], [add("b.parquet")]), *HEADS)
    result = repaired(builder)
    assert findings(result.after) == []
    assert live(builder) == ["a.parquet", "b.parquet"]
    assert builder.store.size(CHECKPOINT.format(1))
    assert json.loads(builder.store.read(HINT))["version"] == 1


def test_the_checksum_of_the_latest_version_is_written_again():
    builder = log([{"commitInfo": {"txnId": "t"}}, *HEADS, add()]).write(CHECKSUM.format(0), "{}")
    builder.write(CHECKSUM.format(0), json.dumps({"numFiles": 7, "tableSizeBytes": 1, "numMetadata": 1, "numProtocol": 1}))
    assert findings(repaired(builder).after) == []
    document = json.loads(builder.store.read(CHECKSUM.format(0)))
    assert (document["numFiles"], document["txnId"]) == (1, "t")


def test_a_lost_file_leaves_the_log_by_a_commit_with_a_name_and_metrics():
    builder = table(add(stats={"numRecords": 4}), add("b.parquet", size=4)).write("b.parquet", "0123")
    result = repaired(builder, allow_loss=True)
    assert result.lost.lost_rows == 4
    assert result.lost.files.select(["dataFilePath", "dataFileMissing", "reason", "numRecords"]).to_pylist() == [
        {"dataFilePath": "a.parquet", "dataFileMissing": True, "reason": "the data file does not exist", "numRecords": 4}
    ]
    newest = DeltaLog(builder.uri, builder.store).history(1)[0]
    assert (newest.version, newest.operation, newest.operation_metrics) == (1, OPERATION, {"numRemovedFiles": "1"})
    assert live(builder) == ["b.parquet"]


def test_a_readable_file_of_another_size_is_not_lost():
    data = parquet({"id": pa.array([1], pa.int64())})
    builder = table(add(size=len(data) + 1)).write("a.parquet", data)
    result = repaired(builder, allow_loss=True)
    assert states(result) == [(Repair.FILES, True, False)]
    assert live(builder) == ["a.parquet"]


def test_the_result_is_one_json_document():
    builder = table(add(stats={"numRecords": 4}))
    document = json.loads(json.dumps(repaired(builder, files=True, dry_run=True).to_json()))
    assert document["dryRun"]
    assert document["steps"][0]["losesRows"]
    assert document["lostFiles"][0]["dataFilePath"] == "a.parquet"
    assert found(builder, files=True).to_json()["version"] == document["version"]


def test_a_file_that_cannot_be_read_just_now_is_not_lost():
    data = parquet({"id": pa.array([1], pa.int64())})
    builder = table(add(size=len(data))).write("a.parquet", data)
    for call in ("open", None):
        broken_now = FaultyStore(builder.store, [Fault(call, "a.parquet", times=None)])
        with pytest.raises(StorageError):
            repair_store(builder.uri, broken_now, {}, footers=True, allow_loss=True)
    assert live(builder) == ["a.parquet"]


@pytest.mark.parametrize("fault", [Fault(call, kind=kind) for call in ("put", "delete") for kind in ("before", "after")], ids=str)
def test_a_repair_that_is_interrupted_leaves_a_table_that_can_be_read_and_repaired(fault):
    builder = checkpoint(log([*HEADS, add()], [add("b.parquet")]), *HEADS, version=0)
    builder.write(HINT, "{}").write(CHECKSUM.format(1), "{}")
    before = live(builder)
    with contextlib.suppress(StorageError):
        repair_store(builder.uri, FaultyStore(builder.store, [fault]), {})
    assert live(builder) in (before, ["a.parquet", "b.parquet"])
    assert findings(repaired(builder).after) == []
    assert live(builder) == ["a.parquet", "b.parquet"]
