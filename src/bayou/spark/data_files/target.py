# SPDX-License-Identifier: Apache-2.0
"""The table that a write changes or creates, checked before any file is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bayou.errors import failed
from bayou.log.operations.create import first_actions
from bayou.log.snapshot.clustering import logical_clustering, replaced_clustering
from bayou.protocol import properties
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol
from bayou.protocol.columns.clustering import CLUSTERING
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.column_mapping import mapped_columns, without_mapping
from bayou.protocol.columns.constraints import constraints_of
from bayou.protocol.columns.generated_columns import generation_expression, has_generated_columns
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.columns.identity_rules import check_no_explicit_values
from bayou.protocol.evolution.schema_merge import check_write, merge_schemas
from bayou.protocol.features.features import MATERIALIZE_PARTITIONS, check_writable, writer_features
from bayou.protocol.features.protocol_rules import check_not_append_only, merged, upgraded
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.properties import mapping_mode
from bayou.protocol.schema.reserved_names import check_leftover_names, check_takes_rows
from bayou.protocol.schema.validity import check_names, check_schema
from bayou.protocol.types.partition_values import is_string_type
from bayou.protocol.types.schema import StructType, parse_schema, required_and_absent, schema_to_json
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.columns.constraints import Constraint
    from bayou.protocol.types.schema import StructField
    from bayou.spark.data_files.request import WriteOptions, WriteRequest

HeadAction: TypeAlias = Protocol | Metadata | DomainMetadata
"""An action that describes a table and not its files."""
_VECTORS: Final = "deletionVectors"


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table that rows can be written into.

    Attributes:
        log: its log.
        snapshot: its snapshot; None if the write creates the table.
        protocol: its protocol after the write.
        metadata: its metadata after the write.
        schema: its schema after the write.
        given: the schema of the rows.
        head: the actions that change protocol, metadata and domains; empty if the write changes only rows.
        constraints: the constraints that every row must satisfy.
    """

    log: DeltaLog
    snapshot: Snapshot | None
    protocol: Protocol
    metadata: Metadata
    schema: StructType
    given: StructType
    head: tuple[HeadAction, ...] = ()
    constraints: tuple[Constraint, ...] = field(default=())

    @classmethod
    def of_snapshot(cls, log: DeltaLog, snapshot: Snapshot, given: StructType | None = None) -> WriteTarget:
        """Return the target of a write that keeps the table's schema.

        Args:
            given: the schema of the rows; the table's own if None.
        """
        given = readable_schema(snapshot.schema) if given is None else given
        return cls(log, snapshot, snapshot.protocol, snapshot.metadata, snapshot.schema, given)

    @property
    def table_uri(self) -> str:
        """The table's URI."""
        return self.log.table_uri

    @property
    def version(self) -> int | None:
        """The version before the write; None if the write creates the table."""
        return None if self.snapshot is None else self.snapshot.version

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The logical names of the partition columns."""
        return self.metadata.partition_columns

    @property
    def physical_partitions(self) -> tuple[str, ...]:
        """The physical names of the partition columns, which the log and folders have."""
        fields = (self.schema.field(name) for name in self.partition_by)
        return tuple(each.physical_name for each in fields if each is not None)

    @property
    def text_partitions(self) -> tuple[str, ...]:
        """The partition columns of string and binary types, whose empty values are read as NULL."""
        fields = [field for name in self.partition_by if (field := self.schema.field(name)) is not None]
        return tuple(f.name for f in fields if isinstance(f.type, str) and (is_string_type(f.type) or f.type == "binary"))

    @property
    def materializes_partitions(self) -> bool:
        """Whether files contain the partition columns, because the protocol or a table property requires it."""
        if not self.partition_by:
            return False
        by_property = str(self.properties.get(properties.WRITE_PARTITION_COLUMNS.key, "")).lower() == "true"
        return by_property or MATERIALIZE_PARTITIONS in writer_features(self.protocol)

    @property
    def folder_columns(self) -> tuple[str, ...]:
        """The columns of rows that become names of folders. They differ from partition columns that files contain."""
        names = self.physical_partitions
        return tuple(f"__bayou_folder_{place}" for place in range(len(names))) if self.materializes_partitions else names

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties after the write."""
        return self.metadata.configuration

    @property
    def takes_vectors(self) -> bool:
        """Whether its files may get deletion vectors, so that their statistics state whether bounds are tight."""
        return _VECTORS in writer_features(self.protocol)

    @property
    def maps_columns(self) -> bool:
        """Whether the table uses column mapping."""
        return mapping_mode(self.metadata.configuration) != "none"

    @property
    def generates(self) -> bool:
        """Whether the table has generated columns."""
        return has_generated_columns(self.protocol, self.schema)


def write_target(
    request: WriteRequest, given: StructType, log: DeltaLog, snapshot: Snapshot | None, settings: Mapping[str, str]
) -> WriteTarget:
    """Check what needs no file, and return the target of a write.

    Args:
        snapshot: the table; None if it does not exist.

    Raises:
        InvalidSchemaError: the schema, the partition columns or the clustering columns are not valid.
        InvalidOptionError: a property cannot be set.
        SchemaMismatchError: the rows do not have the table's columns, or other partition or clustering columns were requested.
        AppendOnlyError: the mode is `overwrite` and the table is append-only.
        UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
    """
    given = without_mapping(given)
    if snapshot is None or request.replaces_table:
        check_names(given, log.table_uri, column_mapping=True, duplicates_class="DATA")
    if snapshot is None:
        return _checked(new_table(request, as_nullable(given), log, settings), given)
    check_writable(snapshot.protocol, snapshot.metadata, snapshot.table_uri, snapshot.version)
    if request.options.mode == "overwrite":
        reason = "an overwrite removes its rows"
        check_not_append_only(snapshot.metadata, reason, snapshot.table_uri, snapshot.version, instead="append")
    if request.replaces_table:
        new = new_table(request, as_nullable(given), log, settings, snapshot.metadata)
        return _checked(_replacing(request, new, snapshot), given)
    rules = ClusteringRules.of(settings, snapshot.table_uri, snapshot.version)
    return _checked(_existing(request.options, given, log, snapshot, rules), given)


def new_table(
    request: WriteRequest, schema: StructType, log: DeltaLog, settings: Mapping[str, str], replaced: Metadata | None = None
) -> WriteTarget:
    """Return the table that a write creates.

    Args:
        log: the log of its location.
        settings: the session's settings, for the defaults of properties.
    """
    first = first_actions(
        schema,
        request.options.partition_by or (),
        request.options.properties,
        table=log.table_uri,
        description=None if request.context.statement is None else request.context.statement.comment,
        settings=settings,
        cluster_by=request.options.cluster_by,
        replaced=replaced,
    )
    stored = parse_schema(first.metadata.schema_string)
    return WriteTarget(log, None, first.protocol, first.metadata, stored, schema, first.actions)


def _replacing(request: WriteRequest, new: WriteTarget, snapshot: Snapshot) -> WriteTarget:
    """Return a new table that replaces an existing one. It keeps the features of the old protocol."""
    protocol = merged(snapshot.protocol, new.protocol)
    domains = replaced_clustering(snapshot, new.metadata, request.options.cluster_by)
    return replace(new, snapshot=snapshot, protocol=protocol, head=_head(snapshot, protocol, new.metadata, *domains))


def _head(snapshot: Snapshot, protocol: Protocol, *others: Metadata | DomainMetadata) -> tuple[HeadAction, ...]:
    """Return the actions of a head, with the protocol if the write changes it."""
    return others if protocol == snapshot.protocol else (protocol, *others)


def _existing(options: WriteOptions, given: StructType, log: DeltaLog, snapshot: Snapshot, rules: ClusteringRules) -> WriteTarget:
    """Return an existing table with the schema, partition columns and clustering columns that it has after a write."""
    # delta-spark reports explicit identity values before any difference of the schemas, also if the schema is overwritten.
    check_no_explicit_values(snapshot.schema, given.names, table=snapshot.table_uri, version=snapshot.version)
    schema = _schema_after(options, given, snapshot)
    partitions = snapshot.partition_columns
    if options.overwrite_schema:
        requested = ((name, schema.field(name)) for name in options.partition_by or ())
        # Spell partition columns as the schema does. A check that follows raises the error for one that does not exist.
        partitions = tuple(name if field is None else field.name for name, field in requested)
        target = changed(log, snapshot, schema, given, partitions=partitions, replacing=True)
        return _reclustered(options, target, snapshot, rules)
    if options.cluster_by is not None:
        rules.check_same(options.cluster_by, logical_clustering(snapshot))
    return changed(log, snapshot, schema, given, partitions=partitions)


def _reclustered(options: WriteOptions, target: WriteTarget, snapshot: Snapshot, rules: ClusteringRules) -> WriteTarget:
    """Return the target of a write that overwrites the schema, with its clustering columns.

    These are the columns that the write names. If it names none, the table stays clustered, by no columns.
    """
    columns = None if options.cluster_by is None else rules.checked(options.cluster_by, target.metadata)
    domains = replaced_clustering(snapshot, target.metadata, columns)
    if not domains:
        return target
    protocol = target.protocol
    if CLUSTERING not in writer_features(protocol):
        configuration = target.metadata.configuration
        uri, version = snapshot.table_uri, snapshot.version
        protocol = upgraded(protocol, target.schema, configuration, clustered=True, table=uri, version=version)
    metadata = (action for action in target.head if isinstance(action, Metadata))  # none if only the clustering columns change
    return replace(target, protocol=protocol, head=_head(snapshot, protocol, *metadata, *domains))


def changed(
    log: DeltaLog,
    snapshot: Snapshot,
    schema: StructType,
    given: StructType,
    *,
    partitions: tuple[str, ...],
    replacing: bool = False,
) -> WriteTarget:
    """Return a table with its schema after a write. The head is empty if the schema and the partition columns do not change.

    Args:
        schema: its schema after the write; new columns have no ids yet.
        replacing: whether the schema is overwritten.
    """
    if schema == snapshot.schema and partitions == snapshot.partition_columns:
        return WriteTarget.of_snapshot(log, snapshot, given)
    uri, version = snapshot.table_uri, snapshot.version
    configuration = snapshot.metadata.configuration
    maps = mapping_mode(configuration) != "none"
    feeds = properties.ENABLE_CHANGE_DATA_FEED.read(configuration)
    check_schema(schema, partitions, uri, version=version, column_mapping=maps, change_data_feed=feeds)
    mapped = mapped_columns(
        schema,
        configuration,
        current=snapshot.schema,
        current_configuration=configuration,
        replacing=replacing,
        table=uri,
        version=version,
    )
    if not replacing:
        check_leftover_names(mapped.schema, snapshot.schema, uri, version=version)
    metadata = replace(
        snapshot.metadata,
        schema_string=schema_to_json(mapped.schema),
        partition_columns=partitions,
        configuration=dict(mapped.configuration),
    )
    protocol = upgraded(
        snapshot.protocol, mapped.schema, metadata.configuration, partition_columns=partitions, table=uri, version=version
    )
    check_writable(protocol, metadata, snapshot.table_uri, snapshot.version)
    return WriteTarget(log, snapshot, protocol, metadata, mapped.schema, given, _head(snapshot, protocol, metadata))


def _schema_after(options: WriteOptions, given: StructType, snapshot: Snapshot) -> StructType:
    """Return the table's schema after the write; new columns in it have no ids yet."""
    if options.overwrite_schema:
        return as_nullable(given)
    widening = merge_widening(snapshot)
    uri, version = snapshot.table_uri, snapshot.version
    same_partitions = options.partition_by is None or _lower(options.partition_by) == _lower(snapshot.partition_columns)
    schema = snapshot.schema
    if options.merge_schema and same_partitions:
        schema = merge_schemas(snapshot.schema, given, widening=widening, table_uri=uri, version=version)
    check_write(
        schema,
        StructType((*given.fields, *_filled(snapshot, given))),
        partition_columns=snapshot.partition_columns,
        partition_by=options.partition_by,
        overwrite=options.mode == "overwrite",
        widening=widening,
        table_id=snapshot.metadata.id,
        table_uri=uri,
        version=version,
    )
    return schema


def merge_widening(snapshot: Snapshot) -> Widening:
    """Return which types a write with schema evolution widens. `refuse_widened` checks columns that expressions use."""
    widens = properties.ENABLE_TYPE_WIDENING.read(snapshot.metadata.configuration)
    return Widening.ALWAYS if widens else Widening.NEVER


def _filled(snapshot: Snapshot, given: StructType) -> list[StructField]:
    """Return the columns that the rows lack and that get generated or default values."""
    generates = has_generated_columns(snapshot.protocol, snapshot.schema)
    absent = [each for each in snapshot.schema.fields if given.field(each.name) is None]
    return [each for each in absent if _is_filled(each, generates=generates)]


def is_filled(snapshot: Snapshot, column: StructField) -> bool:
    """Whether a column gets a generated or default value if the rows of a write lack it."""
    return _is_filled(column, generates=has_generated_columns(snapshot.protocol, snapshot.schema))


def _checked(target: WriteTarget, given: StructType) -> WriteTarget:
    """Return the target with the constraints of its rows.

    Raise an error if the rows set an identity column that is always generated, or lack a NOT NULL column.
    """
    table = target.log.table_uri
    if not target.schema.fields:
        raise failed("DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_NO_COLUMNS", at=target)
    check_takes_rows(target.schema, target.metadata, table, target.version)
    check_no_explicit_values(target.schema, given.names, table=table, version=target.version)
    for path in required_and_absent(target.schema, given):
        column = target.schema.field(path[0])
        if column is None or given.field(path[0]) is not None or not _is_filled(column, generates=target.generates):
            name = ".".join(path)
            problems = (f"column {name!r} is missing",)
            raise failed("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", at=target, column=name, problems=problems)
    rules = constraints_of(target.metadata, target.schema, provided=given.names if target.generates else ())
    texts = {name.lower() for name in target.text_partitions}
    needed = tuple(rule for rule in rules if not _always_holds(rule, given, texts))
    return replace(target, given=given, constraints=needed)


def _always_holds(rule: Constraint, given: StructType, texts: AbstractSet[str]) -> bool:
    """Whether rows always satisfy a NOT NULL constraint. An empty string is NULL as a partition value."""
    found = given.field(rule.column[0]) if rule.kind.value == "NOT NULL" and len(rule.column) == 1 else None
    return found is not None and not found.nullable and found.name.lower() not in texts


def _is_filled(column: StructField, *, generates: bool) -> bool:
    generated = generates and generation_expression(column) is not None
    return generated or is_identity(column) or CURRENT_DEFAULT in column.metadata


def _lower(names: tuple[str, ...]) -> list[str]:
    return [name.lower() for name in names]
