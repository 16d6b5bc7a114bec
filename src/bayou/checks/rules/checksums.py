# SPDX-License-Identifier: Apache-2.0
"""Version Checksum File."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayou.checks.log_file import LogFile
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section

_CHECKSUM = Section("Version Checksum File", "checksum", Reads.CHECKSUM)
SECTIONS = (_CHECKSUM,)

_REQUIRED = {"tableSizeBytes": int, "numFiles": int, "numMetadata": int, "numProtocol": int, "metadata": dict, "protocol": dict}
_OPTIONAL = {
    "txnId": str,
    "inCommitTimestampOpt": int,
    "setTransactions": list,
    "domainMetadata": list,
    "fileSizeHistogram": dict,
    "allFiles": list,
    "numDeletedRecordsOpt": int,
    "numDeletionVectorsOpt": int,
    "deletedRecordCountsHistogramOpt": dict,
}
_DELETED_BINS = 10
_TOTALS = {"numFiles": "files", "tableSizeBytes": "bytes", "numDeletionVectorsOpt": "vectors", "numDeletedRecordsOpt": "deleted"}


def _documents(log: RawLog) -> Iterator[tuple[int, LogFile, dict[str, Any]]]:
    for version, file in sorted(log.checksums.items()):
        if isinstance(file.document, dict):
            yield version, file, file.document


@_CHECKSUM.risky("json", "A checksum file is one JSON object.")
def checksums_are_json(log: RawLog) -> Iterator[Found]:
    for file in log.checksums.values():
        if not isinstance(file.document, dict):
            yield Found("it is not a JSON object", file)


@_CHECKSUM.odd("required", "A checksum file has tableSizeBytes, numFiles, numMetadata, numProtocol, metadata and protocol.")
def checksums_are_complete(log: RawLog) -> Iterator[Found]:
    for _, file, document in _documents(log):
        missing = [name for name in _REQUIRED if document.get(name) is None]
        if missing:
            yield Found(f"it lacks {', '.join(missing)}", file)


@_CHECKSUM.risky("type", "The fields of a checksum file have their types.")
def checksums_have_types(log: RawLog) -> Iterator[Found]:
    for _, file, document in _documents(log):
        for name, kind in (_REQUIRED | _OPTIONAL).items():
            if document.get(name) is not None and type(document[name]) is not kind:
                yield Found(f"{name} is {document[name]!r:.60}", file)


@_CHECKSUM.broken("one", "numMetadata and numProtocol are 1.")
def checksums_count_one(log: RawLog) -> Iterator[Found]:
    for _, file, document in _documents(log):
        for name in ("numMetadata", "numProtocol"):
            if document.get(name) not in (None, 1):
                yield Found(f"{name} is {document[name]!r}", file)


@_CHECKSUM.broken("after-commit", "A checksum file is written after its commit.")
def checksums_follow_commits(log: RawLog) -> Iterator[Found]:
    last = max(log.commits, default=None)
    for version, file in log.checksums.items():
        if last is not None and version > last:
            yield Found(f"the latest commit is version {last}", file)


@_CHECKSUM.broken("totals", "Numbers and sizes of files in a checksum file are those of its version.")
def checksums_state_totals(log: RawLog) -> Iterator[Found]:
    if not log.checksums:
        return
    totals = log.timeline.totals.to_pydict()
    known = log.timeline.known
    at = -1
    for version, file, document in _documents(log):
        while at + 1 < len(totals["version"]) and totals["version"][at + 1] <= version:
            at += 1
        for name, column in _TOTALS.items() if version in known else ():
            found = totals[column][at] if at >= 0 else 0
            if type(document.get(name)) is int and document[name] != found:
                yield Found(f"{name} is {document[name]}, and the log says {found}", file)


@_CHECKSUM.broken("heads", "The protocol and metadata in a checksum file are those of its version.")
def checksums_state_heads(log: RawLog) -> Iterator[Found]:
    known = log.timeline.known
    for version, file, document in _documents(log):
        epoch = log.timeline.epoch_at(version) if version in known else None
        for name, wanted in (("protocol", epoch and epoch.protocol), ("metadata", epoch and epoch.metadata)):
            stated = document.get(name)
            if wanted and isinstance(stated, dict):
                wrong = [each for each in stated if _plain(stated[each]) != _plain(wanted.value.get(each))]
                if wrong:
                    yield Found(f"{', '.join(wrong)} of {name} differ from {wanted.file.path}", file)


@_CHECKSUM.broken("txns", "The txn and domainMetadata actions in a checksum file are those of its version.")
def checksums_state_small_actions(log: RawLog) -> Iterator[Found]:
    stated = {version: (file, document) for version, file, document in _documents(log) if version in log.timeline.known}
    for version, heads in log.timeline.heads_at(stated):
        file, document = stated[version]
        for field, key, value, wanted in (
            ("setTransactions", "appId", "version", heads.transactions),
            ("domainMetadata", "domain", "configuration", heads.domains),
        ):
            if isinstance(document.get(field), list):
                found = {str(each.get(key)): each.get(value) for each in document[field] if isinstance(each, dict)}
                if found != {name: each.value.get(value) for name, each in wanted.items()}:
                    yield Found(f"{field} differs from the actions of the log", file)


@_CHECKSUM.broken("in-commit-timestamp", "inCommitTimestampOpt is the inCommitTimestamp of the version.")
def checksums_state_times(log: RawLog) -> Iterator[Found]:
    for version, file, document in _documents(log):
        commit = log.commits.get(version)
        info = next(commit.of_kind("commitInfo"), None) if commit else None
        stated = document.get("inCommitTimestampOpt")
        if info and stated is not None and stated != info.value.get("inCommitTimestamp"):
            yield Found(f"it is {stated}, and the commit has {info.value.get('inCommitTimestamp')}", file)


@_CHECKSUM.broken("txn-id", "txnId is that of the commit.")
def checksums_state_ids(log: RawLog) -> Iterator[Found]:
    for version, file, document in _documents(log):
        commit = log.commits.get(version)
        info = next(commit.of_kind("commitInfo"), None) if commit else None
        if info and info.value.get("txnId") and document.get("txnId") and info.value["txnId"] != document["txnId"]:
            yield Found(f"it is {document['txnId']!r}, and the commit has {info.value['txnId']!r}", file)


@_CHECKSUM.risky("histogram", "The arrays of fileSizeHistogram have one length, start at 0, ascend, and count all files.")
def histograms_are_sound(log: RawLog) -> Iterator[Found]:
    for _, file, document in _documents(log):
        found = document.get("fileSizeHistogram")
        if not isinstance(found, dict):
            continue
        arrays: list[Any] = [found.get(name) for name in ("sortedBinBoundaries", "fileCounts", "totalBytes")]
        if any(not isinstance(each, list) or any(type(item) is not int for item in each) for each in arrays):
            yield Found("an array is missing or has values that are not numbers", file)
            continue
        bounds, counts, sizes = arrays
        sums = (sum(counts), sum(sizes))
        if len({len(bounds), len(counts), len(sizes)}) != 1 or bounds[:1] != [0] or bounds != sorted(set(bounds)):
            yield Found("the boundaries do not ascend from 0, or the lengths differ", file)
        elif sums != (document.get("numFiles"), document.get("tableSizeBytes")):
            yield Found(f"it counts {sums[0]} files of {sums[1]} bytes", file)


@_CHECKSUM.risky("deleted-histogram", "deletedRecordCountsHistogramOpt has 10 bins.")
def deleted_histograms_are_sound(log: RawLog) -> Iterator[Found]:
    for _, file, document in _documents(log):
        found = document.get("deletedRecordCountsHistogramOpt")
        counts = found.get("deletedRecordCounts") if isinstance(found, dict) else None
        if found is not None and (not isinstance(counts, list) or len(counts) != _DELETED_BINS):
            yield Found(f"it is {found!r:.60}", file)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each not in (None, {}, [])} or None
    if isinstance(value, list):
        return sorted(map(str, value)) or None
    return value
