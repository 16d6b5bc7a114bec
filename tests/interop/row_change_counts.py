# SPDX-License-Identifier: Apache-2.0
"""What the log says of a commit that changed rows: what both engines say alike, and counts that follow from the files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROWS = re.compile(r"num(Deleted|Updated|Source|Affected)?(TargetRows(?!Copied)\w+|Rows)$")
"""Counts of rows that do not depend on which rows share a file."""
UUID = re.compile(r"col-[0-9a-f]{8}-[0-9a-f-]{27}")


def commit(path: str, version: int) -> dict[str, list[dict[str, Any]]]:
    """The actions of a commit by their kinds."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in Path(path, "_delta_log", f"{version:020d}.json").read_text(encoding="utf-8").splitlines():
        for kind, action in json.loads(line).items():
            found.setdefault(kind, []).append(action)
    return found


def facts(path: str, version: int) -> dict[str, Any]:
    """What both engines write alike: the operation, the names of its parameters and metrics, the schema, the protocol."""
    actions = commit(path, version)
    info = actions["commitInfo"][0]
    metadata = [
        {
            "schema": json.loads(_plain(each["schemaString"])),
            "partitions": each["partitionColumns"],
            "configuration": each["configuration"],
        }
        for each in actions.get("metaData", ())
    ]
    return {
        "operation": info["operation"],
        "parameters": sorted(info["operationParameters"]),
        "metrics": sorted(_counted(info)),
        "metadata": metadata,
        "protocol": actions.get("protocol"),
        # The mark of used row ids moves where files are written, which one may do for nothing; `_compare_ids` looks at ids.
        "domains": sorted(each["domain"] for each in actions.get("domainMetadata", ()) if each["domain"] != "delta.rowTracking"),
    }


def _counted(info: dict[str, Any]) -> dict[str, str]:
    """A commit's metrics that both engines have. Of an overwrite that brings no row delta-spark may leave out those of rows."""
    metrics = info["operationMetrics"]
    if info["operation"] == "WRITE" and metrics.get("numOutputRows") == metrics.get("numCopiedRows"):
        return {name: count for name, count in metrics.items() if name not in ("numOutputRows", "numCopiedRows", "numDeletedRows")}
    return dict(metrics)


def _plain(schema: str) -> str:
    """A schema without the random names that new columns have in the files."""
    return UUID.sub("random", schema)


def row_counts(path: str, version: int) -> dict[str, str]:
    """The counts of rows that do not depend on which rows share a file."""
    info = commit(path, version)["commitInfo"][0]
    metrics = _counted(info)
    found = {name: count for name, count in metrics.items() if ROWS.match(name)}
    if "numOutputRows" in metrics and info["operation"] == "WRITE":
        found["new rows"] = str(int(metrics["numOutputRows"]) - int(metrics.get("numCopiedRows", 0)))
    return found


def only_copies(path: str, version: int) -> bool:
    """Whether a commit changes no row: it writes some again as they are."""
    is_merge = commit(path, version)["commitInfo"][0]["operation"] == "MERGE"
    return is_merge and all(int(count) == 0 for name, count in row_counts(path, version).items() if name != "numSourceRows")


def check_counts(path: str, version: int) -> None:
    """Checks the counts of rows that were copied, and those of files, bytes and vectors, with the files of the log."""
    live: dict[str, dict[str, Any]] = {}
    for each in range(version):
        apply(live, commit(path, each))
    actions = commit(path, version)
    info = actions["commitInfo"][0]
    metrics = {name: int(count) for name, count in info["operationMetrics"].items()}
    if info["operation"] in ("DELETE", "UPDATE", "MERGE"):
        found = counts_of(live, actions)
        said = said_of(metrics, merge=info["operation"] == "MERGE")
        assert {name: found[name] for name in said} == said, (info["operation"], version, metrics)
    if info["operation"] == "WRITE" and "numDeletedRows" in metrics:
        _check_replaced(live, actions, metrics)


def _check_replaced(live: dict[str, dict[str, Any]], actions: dict[str, list[dict[str, Any]]], metrics: dict[str, int]) -> None:
    """The same of an overwrite of a part. A file with a new vector counts as written, and its rows as copied."""
    found = counts_of(live, actions)
    marked = [each for each in actions.get("add", ()) if each["path"] in live]
    left = sum(map(_rows, marked))
    assert metrics["numDeletedRows"] == found["left"] - (metrics["numCopiedRows"] - left), metrics
    assert metrics["numOutputRows"] == found["written"] + left, metrics
    assert metrics["numFiles"] == found["files added"] + len(marked), metrics
    assert metrics["numOutputBytes"] == found["bytes added"] + sum(each["size"] for each in marked), metrics
    assert metrics["numRemovedFiles"] == found["files removed"], metrics
    assert metrics["numRemovedBytes"] == found["bytes removed"], metrics
    assert metrics["numAddedChangeFiles"] == found["change files"], metrics


def apply(live: dict[str, dict[str, Any]], actions: dict[str, list[dict[str, Any]]]) -> None:
    """Files leave and join the files that are live."""
    for each in actions.get("remove", ()):
        live.pop(each["path"])
    live.update({each["path"]: each for each in actions.get("add", ())})


def counts_of(live: dict[str, dict[str, Any]], actions: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """What the files of a commit come to."""
    added = {each["path"]: each for each in actions.get("add", ())}
    before = {each["path"]: live[each["path"]] for each in actions.get("remove", ())}
    gone = [each for path, each in before.items() if path not in added]
    new = [each for path, each in added.items() if path not in before]
    marked = [(before[path], each) for path, each in added.items() if path in before]
    had = [each for each in before.values() if "deletionVector" in each]
    return {
        "written": sum(_rows(each) for each in new),
        "left": sum(_rows(each) for each in gone) + sum(_rows(one) - _rows(other) for one, other in marked),
        "files added": len(new),
        "files removed": len(gone),
        "bytes added": sum(each["size"] for each in new),
        "bytes removed": sum(each["size"] for each in gone),
        "change files": len(actions.get("cdc", ())),
        "vectors added": sum("deletionVector" in each for _, each in marked),
        "vectors removed": len(had),
        "vectors updated": sum("deletionVector" in one and "deletionVector" in other for one, other in marked),
    }


def said_of(metrics: dict[str, int], *, merge: bool) -> dict[str, int]:
    """What the history says, by the names of `counts_of`."""
    if merge:
        changed = metrics["numTargetRowsUpdated"] + metrics["numTargetRowsCopied"]
        written, left = changed + metrics["numTargetRowsInserted"], changed + metrics["numTargetRowsDeleted"]
        assert metrics["numOutputRows"] == written
        names = "numTargetFiles{}", "numTargetBytes{}", "numTargetDeletionVectors{}", "numTargetChangeFilesAdded"
    else:
        written = metrics["numCopiedRows"] + metrics.get("numUpdatedRows", 0)
        left = written + metrics.get("numDeletedRows", 0)
        names = "num{}Files", "num{}Bytes", "numDeletionVectors{}", "numAddedChangeFiles"
    files, sizes, vectors, changes = names
    return {
        "written": written,
        "left": left,
        "files added": metrics[files.format("Added")],
        "files removed": metrics[files.format("Removed")],
        "bytes added": metrics[sizes.format("Added")],
        "bytes removed": metrics[sizes.format("Removed")],
        "vectors added": metrics[vectors.format("Added")],
        "vectors removed": metrics[vectors.format("Removed")],
        "vectors updated": metrics[vectors.format("Updated")],
        "change files": metrics[changes],
    }


def _rows(file: dict[str, Any]) -> int:
    """How many rows of a file are live."""
    vector = file.get("deletionVector")
    return int(json.loads(file["stats"])["numRecords"]) - (vector["cardinality"] if vector else 0)
