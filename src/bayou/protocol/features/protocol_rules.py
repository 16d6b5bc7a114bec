# SPDX-License-Identifier: Apache-2.0
"""Compute the protocol of a table: for a new table, and after changes of its metadata or by a user.

A protocol is converted to its set of features, including implied ones, and a set of features to the lowest protocol that supports
it. Sources: PROTOCOL.md, "Table Features"; delta-spark's `TableFeatureSupport` and `OptimisticTransaction`.
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
"""The protocol of a table that needs nothing else."""

_VARIANT_SUFFIXES: Final = ("-preview", "-dev")


def supported_features(protocol: Protocol) -> frozenset[str]:
    """Return all features that a protocol lists or implies.

    A reader-writer feature is implied if both versions are high enough. A feature that is only listed for readers counts too.
    """
    named = (*_listed_readers(protocol), *_listed_writers(protocol))
    return frozenset(named).union(_implied(protocol.min_reader_version, protocol.min_writer_version))


def normalised(protocol: Protocol) -> Protocol:
    """Return the lowest protocol with the same features: versions that imply exactly these, or otherwise lists.

    Example: (1, 7, [appendOnly, invariants, checkConstraints]) becomes (1, 3), and (3, 7, [], [rowTracking]) becomes (1, 7,
    [rowTracking]). Listed features keep their order.
    """
    names = supported_features(protocol)
    kept = dict.fromkeys((*_listed_writers(protocol), *_listed_readers(protocol), *FEATURES, *sorted(names)))
    return _weakest([name for name in kept if name in names], frozenset(_listed_readers(protocol)))


def with_requirements(names: Iterable[str]) -> tuple[str, ...]:
    """Return features and, after them, all features that they require, transitively."""
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
    """Return the features that a table's metadata need, sorted, without those that they require.

    Args:
        clustered: whether the table has clustering columns.
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
    """Return the protocol of a new table: the features of the default or requested versions, and the features that it needs.

    Args:
        features: features that the user named (`PropertyChange.features`).
        min_writer: the requested writer version. Version 7 implies no features, as in delta-spark.
        clustered: whether the table has clustering columns.
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
    """Return the protocol of a table after a change: the current features, and those that the metadata need or the user names.

    A lower version removes no features. If no feature is added, the result is `current`, and the commit needs no protocol action.

    Args:
        features: features that the user named (`PropertyChange.features`).
        partition_columns: the logical names of the partition columns.
        clustered: whether the table has clustering columns after the change.

    Raises:
        UnsupportedFeatureError: the metadata need features that are never enabled automatically; `features` names them.
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
    """Return the lowest protocol with the features of all given protocols, for RESTORE and CLONE.

    Source: delta-spark, which keeps all features there unless a setting allows a downgrade.
    """
    return reduce(lambda left, right: _with_features(left, supported_features(right), _listed_readers(right)), protocols)


def check_no_downgrade(before: Protocol, after: Protocol, *, table: str | None, version: int | None = None) -> None:
    """Raise InvalidCommitError if a commit other than DROP FEATURE removes features; `features` names them."""
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
    """Raise CorruptLogError if the metadata need features that the protocol lacks, so that other clients would ignore them."""
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
    """Return the lowest protocol with these features. An unknown feature is for readers if it was listed for them."""
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
    """Return the needed features that are not supported. A feature and its preview replace each other."""
    families = {_family(name) for name in supported}
    return tuple(name for name in needed if _family(name) not in families)


def _family(name: str) -> str:
    for suffix in _VARIANT_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def check_not_append_only(metadata: Metadata, what: str, table: str, version: int | None = None, *, instead: str = "") -> None:
    """Raise AppendOnlyError if a table is append-only. Source: PROTOCOL.md, "Append-only Tables".

    Args:
        what: what the operation does to rows, for example `TRUNCATE removes its rows`.
        version: the version, if known.
        instead: an alternative to changing the property, as the end of a sentence.
    """
    if properties.APPEND_ONLY.read(metadata.configuration):
        raise failed(
            "DELTA_CANNOT_MODIFY_APPEND_ONLY",
            table=table,
            version=version,
            operation=what,
            instead=f", or {instead}" if instead else "",
        )
