# SPDX-License-Identifier: Apache-2.0
"""Cases of rules about the files of the log: commits, compacted files, checkpoints, sidecars, hints and checksums."""

from __future__ import annotations

import json
import time

from tests.core.checks.building import (
    CHECKPOINT,
    CHECKSUM,
    COMMIT,
    HINT,
    INFO,
    OLD,
    Case,
    add,
    cdc,
    field,
    lines,
    log,
    metadata,
    protocol,
    remove,
    table,
)
from tests.core.checks.building import checkpoint as write_checkpoint

from bayou.log.checkpoint.last_checkpoint import json_checksum
from bayou.testing.table_builder import encode_parquet

V2 = "_delta_log/{:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
SIDECAR = "_delta_log/_sidecars/s.parquet"
HEADS = [OLD, metadata()]
PARTITIONED = [OLD, metadata(field("id"), field("p", "string"), field("q", "string"), by=("p", "q"))]
HEADS_V2 = [protocol("v2Checkpoint"), metadata()]
TWO = (field("id"), field("p"))
NO_JSON = {"delta.checkpoint.writeStatsAsJson": "false"}
TXN = {"txn": {"appId": "x", "version": 1}}


def without(builder, *versions):
    for version in versions:
        builder.delete(COMMIT.format(version))
    return builder


def with_checkpoint(*actions, commit=(), heads=HEADS, version=None):
    return write_checkpoint(log([*heads, *commit], [add("b.parquet")]), *actions, version=version)


def v2(*actions, sidecar=None, files=(), first=HEADS_V2, commit=()):
    """A V2 checkpoint of version 0 with one sidecar."""
    builder = log([*first, *commit])
    content = encode_parquet(files, ("add", "remove"))
    builder.write(SIDECAR, content)
    action = {"path": "s.parquet", "sizeInBytes": len(content), "modificationTime": 1, **(sidecar or {})}
    reference = {"sidecar": {key: each for key, each in action.items() if each is not None}}
    return builder.write(V2.format(0), lines({"checkpointMetadata": {"version": 0}}, *first, reference, *actions))


def checksum(*commits, version=0, **changes):
    """A checksum of a table with two files of 10 bytes each."""
    builder = log(*(commits or ([*HEADS, add(), add("b.parquet")],)))
    document = {"tableSizeBytes": 20, "numFiles": 2, "numMetadata": 1, "numProtocol": 1, **OLD, "metadata": metadata()["metaData"]}
    document |= changes
    return builder.write(CHECKSUM.format(version), json.dumps({key: each for key, each in document.items() if each is not None}))


def compacted(*actions, name="{0:020d}.{1:020d}.compacted.json"):
    builder = log([*HEADS, add()], [add("b.parquet")], [remove("b.parquet")])
    return builder.write(f"_delta_log/{name.format(1, 2)}", lines(*actions))


def in_two_parts(first, second):
    """A checkpoint of two parts. Spark's hash puts `a.parquet` with the protocol and the metadata to the first part."""
    builder = log([*HEADS, add("a.parquet"), add("b.parquet")])
    for part, actions in enumerate(([*HEADS, add(first)], [add(second)]), 1):
        builder.write(f"_delta_log/{0:020d}.checkpoint.{part:010d}.{2:010d}.parquet", encode_parquet(actions))
    return builder


def hint(content):
    builder = write_checkpoint(log([*HEADS, add()]), *HEADS, add())
    return builder.write(HINT, content if isinstance(content, str) else json.dumps(content))


def written_at(moment):
    """A sidecar that no checkpoint refers to, of some age."""
    builder = v2().write("_delta_log/_sidecars/t.parquet", "x")
    builder.store.set_modification_time("_delta_log/_sidecars/t.parquet", int(moment))
    return builder


HISTOGRAM = {"sortedBinBoundaries": [0, 15], "fileCounts": [2, 0], "totalBytes": [20, 0]}
SIGNED = {"version": 0, "size": 3}

CASES = {
    "log-contiguous": Case(lambda gone: without(log(HEADS, [add()], [add("b")]), *gone), (), (1,)),
    "log-cleanup-keeps-checkpoint": Case(
        lambda version: without(write_checkpoint(log(HEADS, [add()], [add("b")]), *HEADS, add(), version=version), 0), 1, 2
    ),
    "log-json": Case(lambda end: table().write(COMMIT.format(1), lines(add()) + end), "\n", "x"),
    "log-unicode": Case(lambda text: table(later=[[{"commitInfo": {**INFO, "note": text}}]]), "\U0001f600", "\ud83d"),
    "log-one-action-per-line": Case(lambda action: table(later=[[action]]), add(), {**add(), **remove("b.parquet")}),
    "log-field-type": Case(lambda size: table(add(size=size)), 10, "10"),
    "log-empty": Case(lambda text: table().write(COMMIT.format(1), text), lines(add()), "\n"),
    "log-name": Case(lambda name: table().write(f"_delta_log/{name}", "{}"), "notes.json", "1.json"),
    "log-starts-with-protocol": Case(lambda head: log([*head, metadata(), add()]), [OLD], []),
    "log-checkpoint-actions": Case(table, TXN, {"checkpointMetadata": {"version": 0}}),
    "compaction-range": Case(
        lambda name: (
            compacted(add("b.parquet"), remove("b.parquet"), name=name) if "{1" not in name else compacted(remove("b.parquet"))
        ),
        "{0:020d}.{1:020d}.compacted.json",
        "00000000000000000002.00000000000000000001.compacted.json",
    ),
    "compaction-equals-commits": Case(lambda actions: compacted(*actions), [remove("b.parquet")], [add("b.parquet")]),
    "compaction-heads": Case(lambda more: compacted(remove("b.parquet"), *more), [], [TXN]),
    "compaction-no-commit-info": Case(
        lambda more: compacted(remove("b.parquet"), *more), [], [{"commitInfo": {"operation": "WRITE"}}]
    ),
    "checkpoint-readable": Case(
        lambda content: table().write(CHECKPOINT.format(0), content), encode_parquet(HEADS), b"PAR1 is not enough PAR1"
    ),
    "checkpoint-parts": Case(
        lambda part: (
            table(add())
            .write("_delta_log/00000000000000000000.checkpoint.0000000001.0000000002.parquet", encode_parquet(HEADS))
            .write(f"_delta_log/00000000000000000000.checkpoint.{part}.0000000002.parquet", encode_parquet([add()]))
        ),
        "0000000002",
        "0000000001",
    ),
    "checkpoint-multi-part": Case(lambda kind: table(add()).checkpoint(kind), "classic", "multipart"),
    "checkpoint-part-hash": Case(lambda swapped: in_two_parts(*(("a.parquet", "b.parquet")[:: -1 if swapped else 1])), False, True),
    "checkpoint-multi-part-v2": Case(
        lambda first: log([first, metadata(), add()]).checkpoint("multipart"), OLD, protocol("v2Checkpoint")
    ),
    "checkpoint-v2-feature": Case(
        lambda first: log([first, metadata(), add()]).checkpoint("v2-json"), protocol("v2Checkpoint"), OLD
    ),
    "checkpoint-metadata-action": Case(lambda more: v2(*more), [], [{"checkpointMetadata": {"version": 0}}]),
    "checkpoint-after-commit": Case(lambda version: write_checkpoint(log(HEADS, [add()]), *HEADS, add(), version=version), 1, 2),
    "checkpoint-has-protocol": Case(lambda heads: write_checkpoint(log(HEADS), *heads), HEADS, [OLD]),
    "checkpoint-no-provenance": Case(
        lambda action: (
            table(add()).write(V2.format(0), lines({"checkpointMetadata": {"version": 0}}, *HEADS, add(), *action))
            if action
            else table(add())
        ),
        [],
        [{"commitInfo": {}}, cdc()],
    ),
    "checkpoint-heads-equal-commits": Case(
        lambda config: write_checkpoint(log(HEADS), OLD, metadata(config=config)), {}, {"delta.appendOnly": "true"}
    ),
    "checkpoint-txns-equal-commits": Case(
        lambda version: write_checkpoint(table(TXN), *HEADS, {"txn": {"appId": "x", "version": version}}), 1, 2
    ),
    "checkpoint-files-equal-commits": Case(
        lambda path: write_checkpoint(table(add()), *HEADS, add(path)), "a.parquet", "b.parquet"
    ),
    "checkpoint-values-equal-commits": Case(
        lambda value: write_checkpoint(
            *(log([*PARTITIONED, add(partitionValues={"p": "1", "q": None})]), *PARTITIONED),
            add(partitionValues={"q": "", "p": value}),
        ),
        *("1", "2"),
    ),
    "checkpoint-unique-files": Case(lambda files: write_checkpoint(table(add()), *HEADS, *files), [add()], [add(), add()]),
    "checkpoint-remove-fields": Case(
        lambda more: log([*HEADS_V2, add()], [remove()]).write(
            V2.format(1), lines({"checkpointMetadata": {"version": 1}}, *HEADS_V2, remove(**more))
        ),
        {},
        {"tags": {"a": "b"}},
    ),
    "checkpoint-parsed-columns": Case(
        lambda on: write_checkpoint(
            log([OLD, metadata(*TWO, by=["p"], config=on), add(partitionValues={"p": "1"})]),
            OLD,
            metadata(*TWO, by=["p"], config=on),
            add(partitionValues={"p": "1"}),
        ),
        {},
        {"delta.checkpoint.writeStatsAsStruct": "true"},
    ),
    "checkpoint-stats-column": Case(
        lambda stats: write_checkpoint(
            log([OLD, metadata(config=NO_JSON), add()]), OLD, metadata(config=NO_JSON), add(stats=stats)
        ),
        None,
        {"numRecords": 1},
    ),
    "sidecar-fields": Case(lambda time: v2(sidecar={"modificationTime": time}), 1, None),
    "sidecar-exists": Case(lambda name: v2(sidecar={"path": name}), "s.parquet", "t.parquet"),
    "sidecar-size": Case(lambda size: v2(sidecar=size), {}, {"sizeInBytes": 1}),
    "sidecar-only-files": Case(
        lambda content: v2(sidecar={"sizeInBytes": len(content)}, commit=[add()]).write(SIDECAR, content),
        encode_parquet([add()], ("add", "remove")),
        encode_parquet([add(), TXN]),
    ),
    "sidecar-all-or-none": Case(lambda more: v2(*more, files=[add()], commit=[add(), *more]), [], [add("b.parquet")]),
    "sidecar-orphan": Case(written_at, time.time() * 1000, 1),
    "hint-json": Case(hint, SIGNED, {"version": "0"}),
    "hint-exists": Case(hint, SIGNED, {"version": 7, "size": 3}),
    "hint-latest": Case(
        lambda version: write_checkpoint(
            write_checkpoint(log([*HEADS, add()], [add("b.parquet")]), *HEADS, add(), version=0), *HEADS, add(), add("b.parquet")
        ).write(HINT, json.dumps({"version": version, "size": 4})),
        1,
        0,
    ),
    "hint-size": Case(lambda count: hint({**SIGNED, "numOfAddFiles": count}), 1, 2),
    "hint-checksum": Case(lambda text: hint({**SIGNED, "checksum": text}), json_checksum(SIGNED), "0" * 32),
    "checksum-json": Case(lambda text: checksum().write(CHECKSUM.format(0), text) if text else checksum(), "", "[]"),
    "checksum-required": Case(lambda value: checksum(metadata=value), metadata()["metaData"], None),
    "checksum-type": Case(lambda value: checksum(txnId=value), "t", 1),
    "checksum-one": Case(lambda value: checksum(numProtocol=value), 1, 2),
    "checksum-after-commit": Case(lambda version: checksum(version=version), 0, 5),
    "checksum-totals": Case(lambda count: checksum(numFiles=count), 2, 3),
    "checksum-heads": Case(lambda value: checksum(protocol=value), OLD["protocol"], {"minReaderVersion": 1, "minWriterVersion": 3}),
    "checksum-txns": Case(lambda value: checksum(setTransactions=value), [], [TXN["txn"]]),
    "checksum-in-commit-timestamp": Case(
        lambda time: checksum(
            [{"commitInfo": {"inCommitTimestamp": 5}}, *HEADS, add(), add("b.parquet")], inCommitTimestampOpt=time
        ),
        5,
        6,
    ),
    "checksum-txn-id": Case(
        lambda text: checksum([{"commitInfo": {"txnId": "t"}}, *HEADS, add(), add("b.parquet")], txnId=text), "t", "u"
    ),
    "checksum-histogram": Case(lambda value: checksum(fileSizeHistogram=value), HISTOGRAM, HISTOGRAM | {"fileCounts": [1, 0]}),
    "checksum-deleted-histogram": Case(
        lambda count: checksum(deletedRecordCountsHistogramOpt={"deletedRecordCounts": [0] * count}), 10, 9
    ),
}
