# SPDX-License-Identifier: Apache-2.0
"""Which protocol a table gets: for a new one, for one whose metadata change, and for one whose user asks for more.

A protocol is taken for the set of features that it supports, legacy versions spelled out; from a set its weakest form is
made. Sources: PROTOCOL.md, "Table Features"; delta-spark's `TableFeatureSupport` and `OptimisticTransaction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.features.features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION
from bayou.protocol.types.schema import StructType

DEFAULT_PROTOCOL: Final = Protocol(1, 2)
"""What a table has that asks for nothing."""

_VARIANT_SUFFIXES: Final = ("-preview", "-dev")


def supported_features(protocol: Protocol) -> frozenset[str]:
    """Every feature that a protocol supports, named or implied by a legacy version.

    A feature of readers and writers is implied where both versions reach it. One that is only listed for readers counts.
    """
    named = (*_listed_readers(protocol), *_listed_writers(protocol))
    return frozenset(named).union(_implied(protocol.min_reader_version, protocol.min_writer_version))


def normalised(protocol: Protocol) -> Protocol:
    """The weakest protocol with the same features: legacy versions where they imply exactly these, lists otherwise.

    Example: (1, 7, [appendOnly, invariants, checkConstraints]) is (1, 3), and (3, 7, [], [rowTracking]) is (1, 7,
    [rowTracking]). Listed features keep their order.
    """
    names = supported_features(protocol)
    kept = dict.fromkeys((*_listed_writers(protocol), *_listed_readers(protocol), *FEATURES, *sorted(names)))
    return _weakest([name for name in kept if name in names], frozenset(_listed_readers(protocol)))


def with_requirements(names: Iterable[str]) -> tuple[str, ...]:
    """Features with all that they require, transitively; each once, what is required after what requires it."""
    found: dict[str, None] = {}
    open_names = list(names)
    while open_names:
        name = open_names.pop(0)
        if name not in found:
            found[name] = None
            open_names.extend(FEATURES[name].requires if name in FEATURES else ())
    return tuple(found)


def required_features(
    schema: StructType, configuration: Mapping[str, str], *, partition_columns: Iterable[str] = (), clustered: bool = False
) -> tuple[str, ...]:
    """The features that a table's metadata ask for, without what those require, in alphabetical order.

    Args:
        clustered: whether it has clustering columns.
    """
    metadata = Metadata("", "", tuple(partition_columns), configuration)
    asked = {name for name, each in FEATURES.items() if each.enabled_by.asked(metadata, schema)}
    return tuple(sorted(asked | {"clustering"} if clustered else asked))


def protocol_for_table(
    schema: StructType,
    configuration: Mapping[str, str],
    *,
    features: Iterable[str] = (),
    min_reader: int | None = None,
    min_writer: int | None = None,
    partition_columns: Iterable[str] = (),
    clustered: bool = False,
) -> Protocol:
    """The protocol of a new table: the default's features or those of the versions asked for, and what it needs.

    Args:
        features: features that were named (`PropertyChange.features`).
        min_writer: the writer version asked for. A version that has lists implies no feature, as in delta-spark.
        clustered: whether it has clustering columns.
    """
    needed = required_features(schema, configuration, partition_columns=partition_columns, clustered=clustered)
    versions = Protocol(min_reader or DEFAULT_PROTOCOL.min_reader_version, min_writer or DEFAULT_PROTOCOL.min_writer_version)
    return _with_features(versions, [*features, *_lacking(needed, frozenset(features))])


def upgraded(
    current: Protocol,
    schema: StructType,
    configuration: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
    features: Iterable[str] = (),
    min_reader: int | None = None,
    min_writer: int | None = None,
    partition_columns: Iterable[str] = (),
    clustered: bool = False,
) -> Protocol:
    """The protocol that a table has after a change: the current one, and what the new metadata and the user ask for.

    Nothing is taken away: a lower version asks for nothing. Where nothing is added, the result is `current` itself, and
    the commit needs no protocol action.

    Args:
        features: features that were named (`PropertyChange.features`).
        partition_columns: the logical names of the partition columns.
        clustered: whether it has clustering columns after the change.

    Raises:
        UnsupportedFeatureError: the metadata need features that no table gets by itself; `features` names them.
    """
    named = with_requirements(features)
    supported = supported_features(current)
    lacking = _lacking(
        required_features(schema, configuration, partition_columns=partition_columns, clustered=clustered), supported.union(named)
    )
    _check_automatic(lacking, supported, table, version)
    versions = (min_reader or current.min_reader_version, min_writer or current.min_writer_version)
    wanted = with_requirements([*named, *_implied(*versions), *lacking])
    return current if supported.issuperset(wanted) else _with_features(current, wanted)


def merged(*protocols: Protocol) -> Protocol:
    """The weakest protocol that supports what any of some does, for RESTORE and CLONE.

    Source: delta-spark, which never takes a feature away there unless it is told to.
    """
    return reduce(lambda left, right: _with_features(left, supported_features(right), _listed_readers(right)), protocols)


def check_no_downgrade(before: Protocol, after: Protocol, *, table: str | None, version: int | None = None) -> None:
    """Refuse a commit that takes a feature away without being a DROP FEATURE.

    Raises:
        InvalidCommitError: a feature is missing afterwards; `features` names those.
    """
    lost = tuple(sorted(supported_features(before) - supported_features(after)))
    if lost:
        raise failed("DELTA_INVALID_PROTOCOL_DOWNGRADE", table=table, version=version, features=lost)


def check_features_match_metadata(
    protocol: Protocol,
    schema: StructType,
    configuration: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
) -> None:
    """Refuse a table whose metadata use a feature that its protocol does not list: other clients would not keep its rules.

    Raises:
        CorruptLogError: features are missing from the protocol; `features` names them.
    """
    lacking = _lacking(required_features(schema, configuration), supported_features(protocol))
    if lacking:
        raise failed("DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", table=table, version=version, features=lacking)


def _check_automatic(lacking: Iterable[str], supported: frozenset[str], table: str | None, version: int | None) -> None:
    by_hand = tuple(name for name in lacking if not FEATURES[name].enabled_by.auto)
    if by_hand:
        raise failed(
            "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT",
            table=table,
            version=version,
            features=by_hand,
            supported=sorted(supported),
            assignments=[f"'delta.feature.{name}' = 'supported'" for name in by_hand],
        )


def _listed_readers(protocol: Protocol) -> tuple[str, ...]:
    return (protocol.reader_features or ()) if protocol.min_reader_version >= MAX_READER_VERSION else ()


def _listed_writers(protocol: Protocol) -> tuple[str, ...]:
    return (protocol.writer_features or ()) if protocol.min_writer_version >= MAX_WRITER_VERSION else ()


def _implied(reader: int, writer: int) -> tuple[str, ...]:
    if writer >= MAX_WRITER_VERSION:
        return ()
    return tuple(
        name
        for name, each in FEATURES.items()
        if each.legacy_writer is not None and each.legacy_writer <= writer and (each.legacy_reader or 0) <= reader
    )


def _with_features(protocol: Protocol, names: Iterable[str], readers: Iterable[str] = ()) -> Protocol:
    before = normalised(protocol)
    listed = _listed_writers(before) or _implied(before.min_reader_version, before.min_writer_version)
    kept = dict.fromkeys((*listed, *sorted(with_requirements(names))))
    return _weakest(list(kept), frozenset(_listed_readers(protocol)).union(readers))


def _weakest(names: list[str], readers: frozenset[str]) -> Protocol:
    """The weakest protocol with these features; unknown ones count as their list did."""
    reader = max((_reader_version(name, readers) for name in names), default=1)
    writer = max((_writer_version(name) for name in names), default=1)
    if writer < MAX_WRITER_VERSION and frozenset(_implied(reader, writer)) == frozenset(names):
        return Protocol(reader, writer)
    for_readers = tuple(sorted(name for name in names if _reader_version(name, readers) > 1))
    return Protocol(reader, MAX_WRITER_VERSION, for_readers if reader >= MAX_READER_VERSION else None, tuple(names))


def _reader_version(name: str, readers: frozenset[str]) -> int:
    known = FEATURES.get(name)
    if known is None:
        return MAX_READER_VERSION if name in readers else 1
    return (known.legacy_reader or MAX_READER_VERSION) if known.reader_writer else 1


def _writer_version(name: str) -> int:
    known = FEATURES.get(name)
    return MAX_WRITER_VERSION if known is None else known.legacy_writer or MAX_WRITER_VERSION


def _lacking(needed: Iterable[str], supported: frozenset[str]) -> tuple[str, ...]:
    """The needed features that are not supported; a preview of a feature does for it, and it for its preview."""
    families = {_family(name) for name in supported}
    return tuple(name for name in needed if _family(name) not in families)


def _family(name: str) -> str:
    for suffix in _VARIANT_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def check_not_append_only(metadata: Metadata, what: str, table: str, version: int | None = None, *, instead: str = "") -> None:
    """Refuse to remove rows from a table that only takes appends. Source: PROTOCOL.md, "Append-only Tables".

    Args:
        what: what is done to its rows, for example `TRUNCATE removes its rows`.
        version: the version, where there is one.
        instead: what else can be done than to change the property, as half a sentence.

    Raises:
        AppendOnlyError: it only takes appends.
    """
    if properties.APPEND_ONLY.read(metadata.configuration):
        raise failed(
            "DELTA_CANNOT_MODIFY_APPEND_ONLY",
            table=table,
            version=version,
            operation=what,
            instead=f", or {instead}" if instead else "",
        )
