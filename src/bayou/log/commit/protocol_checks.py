# SPDX-License-Identifier: Apache-2.0
"""Check the protocol and metadata of a commit, and that the protocol has the features that its actions need."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from bayou.errors import CorruptLogError, failed, reason
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.features.features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION, reader_features, writer_features
from bayou.protocol.features.protocol_rules import check_features_match_metadata, check_no_downgrade, supported_features
from bayou.protocol.properties import MATERIALIZED_ROW_COMMIT_VERSION, MATERIALIZED_ROW_ID
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.conflict.state import TableState
    from bayou.log.staging.staged import StagedActions

_CATALOG_KEYS: Final = ("delta.coordinatedcommits.", "delta.feature.catalogmanaged", "delta.feature.catalogowned")


def check_metadata(metadata: Metadata, base: TableState, table: str, *, replaces_table: bool) -> None:
    """Check the metadata of a commit.

    Raises:
        InvalidCommitError: the table would get another id, a partition column that does not exist, or a catalog.
        InvalidSchemaError: a column has the name of a materialised row id column.
    """
    if base.metadata is not None and metadata.id != base.metadata.id and not replaces_table:
        raise failed("DELTA_METADATA_MISMATCH/table-id", table=table, version=base.version, old=base.metadata.id, new=metadata.id)
    schema = parse_schema(metadata.schema_string)
    for name in metadata.partition_columns:
        if schema.field(name) is None:
            raise failed("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/partition", table=table, column=name, columns=schema.names)
    hidden = {metadata.configuration.get(each.key, "").lower() for each in (MATERIALIZED_ROW_ID, MATERIALIZED_ROW_COMMIT_VERSION)}
    taken = [each.name for each in schema.fields if {each.name.lower(), each.physical_name.lower()} & (hidden - {""})]
    if taken:
        raise failed(
            "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/row-ids", table=table, version=base.version, columns=(taken[0],)
        )
    for key in metadata.configuration:
        if key.lower().startswith(_CATALOG_KEYS):
            raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/catalog", table=table, key=key)


def check_protocol(protocol: Protocol, base: TableState, table: str, dropped_features: Collection[str]) -> None:
    """Check that a protocol is valid, and does not remove features.

    Raises:
        InvalidCommitError: it is not valid, or removes features.

    Source: PROTOCOL.md, "Protocol Evolution" and "Table Features".
    """
    problems = list(_problems(protocol))
    if problems:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/commit",
            table=table,
            version=base.version if base.version >= 0 else None,
            protocol=protocol.to_json(),
            problems=problems,
        )
    if base.protocol is not None:
        kept = tuple(sorted(supported_features(base.protocol).difference(dropped_features)))
        before = Protocol(MAX_READER_VERSION, MAX_WRITER_VERSION, (), kept)
        check_no_downgrade(before, protocol, table=table, version=base.version)


def check_features(staged: StagedActions, protocol: Protocol, metadata: Metadata, table: str, version: int | None) -> None:
    """Check that the protocol lists the features that the actions use, so that other clients know them.

    Args:
        version: the table's version; None if the commit creates it.

    Raises:
        InvalidCommitError: the protocol lacks features; `features` lists them.
        InvalidSchemaError: a table with the feature `clustering` would be partitioned.
    """
    if staged.protocol is not None or staged.metadata is not None:
        ClusteringRules(table, version).check_not_partitioned(protocol, metadata)
        schema = parse_schema(metadata.schema_string)
        try:
            check_features_match_metadata(protocol, schema, metadata.configuration, table=table, version=version)
        except CorruptLogError as error:
            raise failed(
                "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH/commit",
                table=table,
                version=version,
                error_class=error.error_class,
                reason=reason(error),
                **error.facts,
            ) from error
    supported = writer_features(protocol)
    marked = next((add for add in staged.adds if add.deletion_vector is not None), None)
    for action, feature, error_class in (
        (marked, "deletionVectors", "DELTA_ADDING_DELETION_VECTORS_DISALLOWED"),
        (next(iter(staged.domains), None), "domainMetadata", "DELTA_DOMAIN_METADATA_NOT_SUPPORTED"),
    ):
        if action is not None and feature not in supported:
            what = f"the file {action.path}" if isinstance(action, AddFile) else f"the domain {action.domain!r}"
            raise failed(
                "feature-not-in-protocol",
                table=table,
                version=version,
                error_class=error_class,
                feature=feature,
                action=what,
                features=(feature,),
            )


def _problems(protocol: Protocol) -> Iterator[str]:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        yield "versions begin with 1"
    if reader >= MAX_READER_VERSION and writer < MAX_WRITER_VERSION:
        yield f"reader version {reader} needs writer version {MAX_WRITER_VERSION}"
    for kind, listed, needed in (
        ("reader", protocol.reader_features, reader == MAX_READER_VERSION),
        ("writer", protocol.writer_features, writer == MAX_WRITER_VERSION),
    ):
        if (listed is not None) != needed:
            yield f"a list of {kind} features {'is missing' if needed else 'is for tables with table features alone'}"
    for_readers, for_writers = reader_features(protocol), frozenset(protocol.writer_features or ())
    if protocol.reader_features:
        yield from (f"{name} is for readers and not for writers" for name in sorted(for_readers - for_writers))
    for name in sorted(for_writers - for_readers):
        if name in FEATURES and FEATURES[name].reader_writer:
            yield f"{name} is for writers and not for readers"
