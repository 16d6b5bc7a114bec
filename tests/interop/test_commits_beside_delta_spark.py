# SPDX-License-Identifier: Apache-2.0
"""Our commits, checkpoints and checksums under delta-spark's eyes, and its own under ours."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.interop.sampled import sampled

import bayou
from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
)
from bayou.log.checkpoint.classic_name import write_compatible_checkpoint
from bayou.log.checksum.verify import verify_checksum
from bayou.log.checksum.writer import next_checksum
from bayou.log.commit.transaction import Committed, Conflicted
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.protocol.actions.file_names import checksum_path, commit_path
from bayou.protocol.types.schema import StructField, StructType

pytestmark = pytest.mark.oracle

SCHEMA = StructType((StructField("id", "long"), StructField("name", "string"), StructField("day", "string")))
# delta-spark compares each checksum that it derives with the whole state, and fails where they differ.
VERIFIED = [
    f"set spark.databricks.delta.{name}=true"
    for name in (
        "incremental.commit.verify",
        "incremental.commit.forceVerifyInTests",
        "allFilesInCrc.verificationMode.enabled",
        "allFilesInCrc.verificationMode.forceVerificationModeForNonUTC.enabled",
        "checksum.mismatch.fatal",
        "checkpoint.exceptionThrowing.enabled",
    )
]


def file(folder, name, ids, day="mon"):
    path = Path(folder, f"day={day}", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{value}" for value in ids]}), path)
    return f"day={day}/{name}"


def table(folder, commits, **properties):
    log = bayou.open(folder)
    log.create(SCHEMA, partition_by=["day"], properties={key.replace("__", "."): value for key, value in properties.items()})
    for number in range(commits):
        log.append([file(folder, f"f{number}.parquet", [number], "mon" if number % 2 else "tue")])
    return log


def ids(delta_spark, path, where="true"):
    found = delta_spark.sql(*VERIFIED, f"select id from delta.`{path}` where {where}")
    return sorted(int(row[0]) for row in found)


def forget_commits(path, before):
    for version in range(before):
        for name in (commit_path(version), checksum_path(version)):
            Path(path, name).unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["classic", "v2", "v2 under a classic name", "parts"])
def test_delta_spark_and_delta_rs_read_our_checkpoints_alone(delta_spark, tmp_path, kind):
    path = str(tmp_path / "table")
    interval = {"delta__checkpointInterval": "100"}
    log = table(path, 12, **interval, **({"delta__checkpointPolicy": "v2"} if "v2" in kind else {}))
    written = log.checkpoint(part_size=4 if kind == "parts" else None)
    assert len(written.files) > 1 or kind == "classic"
    if "name" in kind:
        snapshot = bayou.open(path).snapshot()
        assert write_compatible_checkpoint(snapshot, snapshot.segment.checkpoint)
        Path(path, written.files[0]).unlink()
    forget_commits(path, 12)
    assert ids(delta_spark, path) == list(range(12))
    assert ids(delta_spark, path, "id = 7 and day = 'mon'") == [7]
    assert ids(delta_spark, path, "name = 'n4'") == [4]
    deltalake = pytest.importorskip("deltalake", reason="delta-rs is not installed")
    theirs = deltalake.DeltaTable(path)
    assert len(theirs.file_uris()) == 12
    if "v2" not in kind:  # its reader of rows does not know the feature, its reader of logs does
        assert sorted(theirs.to_pyarrow_table()["id"].to_pylist()) == list(range(12))
    delta_spark.sql(*VERIFIED, f"insert into delta.`{path}` values (100, 'x', 'mon')", f"delete from delta.`{path}` where id = 3")
    after = bayou.open(path).snapshot()
    assert after.version == 14
    assert verify_checksum(after) is True


def test_we_read_delta_sparks_checkpoints_alone(delta_spark, tmp_path):
    for policy in ("classic", "v2"):
        path = str(tmp_path / policy)
        properties = f"'delta.checkpointPolicy' = '{policy}', 'delta.checkpointInterval' = '5'"
        delta_spark.sql(
            f"create table delta.`{path}` (id bigint, day string) using delta partitioned by (day) tblproperties ({properties})",
            *(f"insert into delta.`{path}` values ({number}, 'd{number % 2}')" for number in range(6)),
            f"delete from delta.`{path}` where id = 2",
        )
        forget_commits(path, 5)
        snapshot = bayou.open(path).snapshot()
        assert (snapshot.version, snapshot.segment.checkpoint.version) == (7, 5)
        assert sorted(snapshot.partition_texts()["day"].to_pylist()) == ["d0", "d0", "d1", "d1", "d1"]
        assert verify_checksum(snapshot) is True


def test_delta_spark_goes_on_from_our_checksums_and_we_from_its(delta_spark, tmp_path):
    path = str(tmp_path / "table")
    log = table(path, 3)
    for round_ in range(3):
        delta_spark.sql(
            *VERIFIED,
            f"insert into delta.`{path}` values ({100 + round_}, 'x', 'mon')",
            f"update delta.`{path}` set name = 'y' where id = {100 + round_}",
        )
        log.append([file(path, f"more{round_}.parquet", [200 + round_])])
    assert log.version() == 3 + 9
    for version in range(13):
        assert bayou.open(path).verify_checksum(version=version) is True
    assert ids(delta_spark, path) == [0, 1, 2, 100, 101, 102, 200, 201, 202]


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_our_checksum_of_delta_sparks_commit_is_delta_sparks_own(delta_spark, tmp_path, vectors):
    path = str(tmp_path / "table")
    delta_spark.sql(
        f"create table delta.`{path}` (id bigint, day string) using delta partitioned by (day) "
        f"tblproperties ('delta.enableDeletionVectors' = '{vectors}')",
        f"insert into delta.`{path}` select id, cast(id % 3 as string) from range(100)",
        f"delete from delta.`{path}` where id = 7",
        f"update delta.`{path}` set id = -1 where id = 8",
        f"optimize delta.`{path}`",
        f"alter table delta.`{path}` set tblproperties ('note' = 'x')",
    )
    compared = 0
    for changes in bayou.open(path).changes(1):
        theirs = json.loads(Path(path, checksum_path(changes.version)).read_text())
        before = json.loads(Path(path, checksum_path(changes.version - 1)).read_text())
        info = changes.actions[0]["commitInfo"]
        ours = next_checksum(
            before,
            changes.actions,
            version=changes.version,
            txn_id=info["txnId"],
            in_commit_timestamp=info.get("inCommitTimestamp"),
            table=f"file://{path}",
        )
        if ours is None:
            continue
        compared += 1
        assert plain(ours) == plain({name: value for name, value in theirs.items() if name in ours})
        assert theirs.keys() - ours.keys() <= {"allFiles"}
    assert compared >= 4


def plain(document):
    """A checksum with its lists in one order: files of one commit may come in any."""
    found = dict(document)
    for name, key in (("allFiles", "path"), ("setTransactions", "appId"), ("domainMetadata", "domain")):
        if isinstance(found.get(name), list):
            found[name] = sorted(found[name], key=lambda each, key=key: each[key])
    return found


def read_monday(transaction):
    found = transaction.files(where=[("day", "==", "mon")])
    path = found["path"][0].as_py()
    return [RemoveFile(path, 1, partition_values={"day": "mon"}), AddFile("day=mon/new.parquet", {"day": "mon"}, 1, 1)]


def append(_transaction):
    return [AddFile("day=mon/new.parquet", {"day": "mon"}, 1, 1)]


def alter(transaction):
    found = transaction.snapshot.metadata
    return [replace(found, configuration={**found.configuration, "mine": "1"})]


WINNERS = {
    "insert": "insert into delta.`{}` values (50, 'x', 'mon')",
    "insert elsewhere": "insert into delta.`{}` values (50, 'x', 'sun')",
    "update": "update delta.`{}` set name = 'z' where id = 1",
    "update elsewhere": "update delta.`{}` set name = 'z' where id = 0",
    "delete of a whole file": "delete from delta.`{}` where day = 'mon'",
    "optimize": "optimize delta.`{}`",
    "alter": "alter table delta.`{}` set tblproperties ('theirs' = '1')",
    "upgrade": "alter table delta.`{}` set tblproperties ('delta.feature.domainMetadata' = 'supported')",
}
OUTCOMES = {
    append: {"alter": MetadataChangedException},
    read_monday: {
        "insert": ConcurrentAppendException,
        "update": ConcurrentAppendException,
        "delete of a whole file": ConcurrentDeleteReadException,
        # delta-spark would say that a file was deleted that this commit read. Rows that only moved are no conflict for a
        # reader here, but the commit removes the same file.
        "optimize": ConcurrentDeleteDeleteException,
        "alter": MetadataChangedException,
    },
    alter: {"alter": MetadataChangedException, "upgrade": MetadataChangedException},
}


def table_at(path, level):
    """A table at an isolation level. delta-spark sets no other than the default one, and obeys what it finds."""
    table(path, 4)
    log = bayou.open(path)
    with log.transaction("SET TBLPROPERTIES") as transaction:
        found = transaction.snapshot.metadata
        transaction.commit([replace(found, configuration={**found.configuration, "delta.isolationLevel": level})])


LEVELS = ["Serializable", "WriteSerializable"]


@pytest.mark.parametrize("case", sampled(list(itertools.product(WINNERS, LEVELS)), 5), ids="-".join)
def test_the_matrix_when_delta_spark_wins(delta_spark, tmp_path, case):
    winner, level = case
    for operation, outcomes in OUTCOMES.items():
        path = str(tmp_path / operation.__name__)
        table_at(path, level)
        with bayou.open(path).transaction("TEST") as transaction:
            actions = operation(transaction)
            delta_spark.sql(WINNERS[winner].format(path))
            outcome = transaction.try_commit(actions)
        expected = outcomes.get(winner)
        if (winner, level) == ("insert", "WriteSerializable"):
            expected = None  # rows that were only added may be taken to have come later
        if expected is None:
            assert isinstance(outcome, Committed), (operation, outcome)
        else:
            assert isinstance(outcome, Conflicted), (operation, outcome)
            assert type(outcome.error) is expected


OUR_COMMITS = {
    "insert": lambda log, path: log.append([file(path, "w.parquet", [50])]),
    "insert elsewhere": lambda log, path: log.append([file(path, "w.parquet", [50], "sun")]),
    "update": lambda log, path: rewrite(log, path, data_change=True),
    "optimize": lambda log, path: rewrite(log, path, data_change=False),
    "alter": lambda log, _: log.transaction("SET TBLPROPERTIES").commit(alter(log.transaction())),
    "upgrade": lambda log, _: log.transaction("UPGRADE PROTOCOL").commit(
        [Protocol(1, 7, None, ("appendOnly", "invariants", "domainMetadata"))]
    ),
}
THEIR_OUTCOMES = {
    None: {"alter": "DELTA_METADATA_CHANGED"},
    "day = 'mon'": {
        "insert": "DELTA_CONCURRENT_APPEND",
        "update": "DELTA_CONCURRENT_APPEND",
        "optimize": "DELTA_CONCURRENT_",  # delta-spark counts files that only hold moved rows as added
        "alter": "DELTA_METADATA_CHANGED",
    },
}


def rewrite(log, path, *, data_change):
    with log.transaction("UPDATE" if data_change else "OPTIMIZE") as transaction:
        old = transaction.files(where=[("day", "==", "mon")])["path"][0].as_py()
        transaction.stage(RemoveFile(old, 1, data_change=data_change, partition_values={"day": "mon"}, size=1))
        new = transaction.add_files([file(path, "rewritten.parquet", [1])])
        if not data_change:
            transaction._staged[-len(new) :] = [replace(each, data_change=False) for each in new]
        transaction.commit()


@pytest.mark.parametrize("case", sampled(list(itertools.product(OUR_COMMITS, LEVELS)), 5), ids="-".join)
def test_the_matrix_when_we_win(delta_spark, tmp_path, case):
    winner, level = case
    for where, outcomes in THEIR_OUTCOMES.items():
        path = str(tmp_path / ("blind" if where is None else "reader"))
        table_at(path, level)
        delta_spark.begin(path, where)
        OUR_COMMITS[winner](bayou.open(path), path)
        add = {
            "path": "day=mon/theirs.parquet",
            "partitionValues": {"day": "mon"},
            "size": 1,
            "modificationTime": 1,
            "dataChange": True,
        }
        answer = delta_spark.commit(json.dumps({"add": add}))
        expected = outcomes.get(winner)
        if (winner, level) == ("insert", "WriteSerializable"):
            expected = None
        assert (expected in answer) if expected else (answer == "7"), (where, answer)
