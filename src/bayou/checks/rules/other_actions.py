# SPDX-License-Identifier: Apache-2.0
"""Transaction Identifiers, Commit Provenance Information, Domain Metadata, In-Commit Timestamps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from bayou.checks.log_file import Action
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, in_action

_TXN = Section("Transaction Identifiers", "txn")
_INFO = Section("Commit Provenance Information", "commit-info")
_DOMAIN = Section("Domain Metadata", "domain")
_TIMES = Section("In-Commit Timestamps", "ict")
SECTIONS = (_TXN, _INFO, _DOMAIN, _TIMES)

_KNOWN = frozenset({"protocol", "metaData", "txn", "domainMetadata", "commitInfo", "sidecar", "checkpointMetadata"})
_ENABLED = "delta.enableInCommitTimestamps"
_ENABLEMENT = ("delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp")


def _ill_typed(action: Action, required: Mapping[str, type], optional: Mapping[str, type]) -> Iterator[Found]:
    for name, kind in {**required, **optional}.items():
        value = action.value.get(name)
        if (value is None and name in required) or (value is not None and type(value) is not kind):
            yield in_action(action, f"{name} is {value!r:.80}" if value is not None else f"{name} is missing")


@_TXN.broken("fields", "A txn action has an appId and a version.")
def transactions_are_complete(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        for action in file.of_kind("txn"):
            yield from _ill_typed(action, {"appId": str, "version": int}, {"lastUpdated": int})


@_TXN.broken("unique", "A file has at most one txn action for an appId.")
def transactions_are_unique(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        yield from _repeated(list(file.of_kind("txn")), "appId")


@_INFO.broken("object", "A commitInfo action is unique in its version.")
def commit_info_is_unique(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        for each in list(file.of_kind("commitInfo"))[1:]:
            yield in_action(each, "the version has another commitInfo action")


@_INFO.odd("exists", "A version has a commitInfo action.")
def commit_info_exists(log: RawLog) -> Iterator[Found]:
    without = [file for file in log.commits.values() if not any(file.of_kind("commitInfo"))]
    if without:
        yield Found("the history does not know who wrote the version", without[0], more=len(without) - 1)


@_INFO.odd("unknown-action", "Actions are those of the protocol; readers ignore others.")
def actions_are_known(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        for each in file.actions:
            if each.kind not in _KNOWN:
                yield in_action(each, f"{each.kind!r} is not an action of the protocol")


@_INFO.broken("txn-id", "A commitInfo of a catalog-managed table has a txnId.")
def catalog_commits_have_ids(log: RawLog) -> Iterator[Found]:
    for file, epoch in _commits(log):
        info = next(file.of_kind("commitInfo"), None)
        if "catalogManaged" in epoch.writer_features and not (info and isinstance(info.value.get("txnId"), str)):
            yield Found("the version has no txnId", file, info and info.line, "commitInfo")


@_DOMAIN.broken("fields", "A domainMetadata action has domain, configuration and removed.")
def domains_are_complete(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        for action in file.of_kind("domainMetadata"):
            yield from _ill_typed(action, {"domain": str, "configuration": str, "removed": bool}, {})


@_DOMAIN.broken("unique", "A file has at most one domainMetadata action for a domain.")
def domains_are_unique(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        yield from _repeated(list(file.of_kind("domainMetadata")), "domain")


@_DOMAIN.broken("feature", "A table with domainMetadata actions supports the feature domainMetadata.")
def domains_need_their_feature(log: RawLog) -> Iterator[Found]:
    for file, epoch in _commits(log):
        for action in file.of_kind("domainMetadata"):
            if "domainMetadata" not in epoch.writer_features:
                yield in_action(action, "writerFeatures lacks domainMetadata")


@_DOMAIN.risky("system", "A domain with the prefix 'delta.' is one of the protocol.")
def system_domains_are_known(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        for action in file.of_kind("domainMetadata"):
            name = action.value.get("domain")
            if isinstance(name, str) and name.startswith("delta.") and name not in {"delta.rowTracking", "delta.clustering"}:
                yield in_action(action, f"the protocol does not define {name!r}")


@_DOMAIN.broken("system-json", "The configuration of a domain of the protocol is a JSON object.")
def system_domains_are_json(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        for action in file.of_kind("domainMetadata"):
            if action.value.get("domain") in {"delta.rowTracking", "delta.clustering"} and domain_value(action) is None:
                yield in_action(action, f"it is {action.value.get('configuration')!r:.60}")


@_TIMES.broken("feature", "delta.enableInCommitTimestamps is only true if the feature inCommitTimestamp is supported.")
def in_commit_times_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if epoch.metadata and epoch.is_on(_ENABLED) and not epoch.supports("inCommitTimestamp"):
            yield in_action(epoch.metadata, "writerFeatures lacks inCommitTimestamp")


@_TIMES.broken("first-action", "The first action of each commit is a commitInfo with an inCommitTimestamp.")
def in_commit_times_exist(log: RawLog) -> Iterator[Found]:
    for file, epoch in _commits(log):
        if not epoch.is_on(_ENABLED):
            continue
        info = next(file.of_kind("commitInfo"), None)
        if info is None:
            yield Found("the version has no commitInfo", file)
        elif type(info.value.get("inCommitTimestamp")) is not int:
            yield in_action(info, f"inCommitTimestamp is {info.value.get('inCommitTimestamp')!r}")
        elif info.line != 1:
            yield in_action(info, f"commitInfo is action {info.line}")


@_TIMES.broken("increases", "The inCommitTimestamp of a version is greater than that of the version before.")
def in_commit_times_increase(log: RawLog) -> Iterator[Found]:
    before = None
    for file, epoch in _commits(log):
        info = next(file.of_kind("commitInfo"), None)
        value = info.value.get("inCommitTimestamp") if info and epoch.is_on(_ENABLED) else None
        if info and type(value) is int and before is not None and before[0] == file.version - 1 and value <= before[1]:
            yield in_action(info, f"it is {value}, and that of version {before[0]} is {before[1]}")
        before = (file.version, value) if type(value) is int else None


@_TIMES.risky("enablement", "A table with older commits notes the version and timestamp of the enablement.")
def enablement_is_noted(log: RawLog) -> Iterator[Found]:
    was_off = False
    for epoch in log.epochs:
        if was_off and epoch.is_on(_ENABLED) and epoch.metadata and epoch.metadata.file.version == epoch.start:
            version, timestamp = (epoch.configuration.get(each) for each in _ENABLEMENT)
            info = next(log.commits[epoch.start].of_kind("commitInfo"), None) if epoch.start in log.commits else None
            if version != str(epoch.start) or (info and timestamp != str(info.value.get("inCommitTimestamp"))):
                yield in_action(
                    epoch.metadata, f"the properties are {version!r} and {timestamp!r}, and the version is {epoch.start}"
                )
        was_off = epoch.start >= 0 and not epoch.is_on(_ENABLED)


def domain_value(action: Action) -> Mapping[str, object] | None:
    """Return the configuration of a domain as an object; None if it is not one."""
    try:
        found = json.loads(action.value.get("configuration") or "")
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _commits(log: RawLog) -> Iterator[tuple]:  # type: ignore[type-arg]
    epochs = iter(log.epochs)
    epoch = next(epochs, None)
    for version, file in log.commits.items():
        while epoch is not None and epoch.end < version:
            epoch = next(epochs, None)
        if epoch is not None:
            yield file, epoch


def _repeated(actions: list[Action], name: str) -> Iterator[Found]:
    seen = set()
    for each in actions:
        value = str(each.value.get(name))
        if value in seen:
            yield in_action(each, f"{name} {value!r} occurs twice")
        seen.add(value)
