# SPDX-License-Identifier: Apache-2.0
"""Protocol Evolution and Table Features."""

from __future__ import annotations

from collections.abc import Iterator

from bayou.checks.log_file import Action
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, in_action
from bayou.protocol.features.features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION

_PROTOCOL = Section("Protocol Evolution", "protocol")
_FEATURES = Section("Table Features", "feature")
SECTIONS = (_PROTOCOL, _FEATURES)

_VERSIONS = ("minReaderVersion", "minWriterVersion")
_LISTS = {"readerFeatures": ("minReaderVersion", 3), "writerFeatures": ("minWriterVersion", 7)}
_REQUIRES = {
    "rowTracking": ("domainMetadata",),
    "clustering": ("domainMetadata",),
    "icebergCompatV1": ("columnMapping",),
    "icebergCompatV2": ("columnMapping",),
    "variantShredding": ("variantType",),
    "catalogManaged": ("inCommitTimestamp",),
}


def all_protocols(log: RawLog) -> Iterator[Action]:
    """Yield each protocol action of the commits and checkpoints."""
    for file in log.files:
        yield from file.of_kind("protocol")


@_PROTOCOL.broken("required", "A protocol action has minReaderVersion and minWriterVersion, which are integers from 1.")
def versions_exist(log: RawLog) -> Iterator[Found]:
    for action in all_protocols(log):
        for name in _VERSIONS:
            value = action.value.get(name)
            if type(value) is not int or value < 1:
                yield in_action(action, f"{name} is {value!r}")


@_PROTOCOL.risky("known", "The versions are at most 3 and 7.")
def versions_are_known(log: RawLog) -> Iterator[Found]:
    for action in all_protocols(log):
        for name, limit in zip(_VERSIONS, (3, 7), strict=True):
            value = action.value.get(name)
            if type(value) is int and value > limit:
                yield in_action(action, f"{name} is {value}, and the protocol defines {limit}")


@_PROTOCOL.broken("once", "A version has at most one protocol action.")
def protocol_is_unique(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        for each in list(file.of_kind("protocol"))[1:]:
            yield in_action(each, "the version has another protocol action")


@_PROTOCOL.broken("reader-3-needs-writer-7", "Reader version 3 requires writer version 7.")
def reader_features_need_writer_features(log: RawLog) -> Iterator[Found]:
    for action in all_protocols(log):
        reader, writer = (action.value.get(name) for name in _VERSIONS)
        if reader == MAX_READER_VERSION and type(writer) is int and writer < MAX_WRITER_VERSION:
            yield in_action(action, f"the reader version is 3 and the writer version {writer}")


@_FEATURES.broken("lists", "Lists of features exist exactly if the versions are 3 and 7.")
def lists_exist(log: RawLog) -> Iterator[Found]:
    for action in all_protocols(log):
        for name, (version, wanted) in _LISTS.items():
            value = action.value.get(name)
            if action.value.get(version) == wanted and not isinstance(value, list):
                yield in_action(action, f"{name} is {value!r:.60}, and {version} is {wanted}")
            elif action.value.get(version) != wanted and value is not None:
                yield in_action(action, f"{name} is {value!r:.60}, and {version} is {action.value.get(version)}")


@_FEATURES.broken("names", "Names of features are strings, and each is listed once.")
def names_are_strings(log: RawLog) -> Iterator[Found]:
    for action in all_protocols(log):
        for name in _LISTS:
            value = action.value.get(name)
            if isinstance(value, list) and (
                any(not isinstance(each, str) for each in value) or len(set(map(str, value))) < len(value)
            ):
                yield in_action(action, f"{name} is {value!r:.80}")


@_FEATURES.broken("reader-also-writer", "A feature in readerFeatures is also in writerFeatures.")
def reader_features_are_writer_features(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        missing = epoch.listed("readerFeatures") - epoch.listed("writerFeatures")
        if epoch.protocol and missing:
            yield in_action(epoch.protocol, f"writerFeatures lacks {', '.join(sorted(missing))}")


@_FEATURES.broken("writer-only", "A feature for writers only is not in readerFeatures.")
def writer_features_are_not_for_readers(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in sorted(epoch.listed("readerFeatures")):
            if epoch.protocol and name in FEATURES and not FEATURES[name].reader_writer:
                yield in_action(epoch.protocol, f"{name} is a feature for writers only")


@_FEATURES.broken(
    "reader-writer", "Readers must support a feature for readers and writers, by readerFeatures or by the reader version."
)
def features_for_both_are_in_both(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in sorted(epoch.listed("writerFeatures") - epoch.reader_features):
            if epoch.protocol and name in FEATURES and FEATURES[name].reader_writer:
                yield in_action(epoch.protocol, f"{name} is in writerFeatures only")


@_FEATURES.risky("unknown", "The names of features are known.")
def names_are_known(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in sorted((epoch.listed("readerFeatures") | epoch.listed("writerFeatures")) - set(FEATURES)):
            if epoch.protocol:
                yield in_action(epoch.protocol, f"{name!r} is not a feature of the protocol")


@_FEATURES.broken("requires", "The features that a feature requires are supported.")
def requirements_are_supported(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in sorted(epoch.listed("writerFeatures")):
            missing = [each for each in _REQUIRES.get(name, ()) if not epoch.supports(each)]
            if epoch.protocol and missing:
                yield in_action(epoch.protocol, f"{name} requires {', '.join(missing)}")
