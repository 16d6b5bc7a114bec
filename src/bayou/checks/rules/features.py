# SPDX-License-Identifier: Apache-2.0
"""Features of types and layouts: Type Widening, TimestampNtz, Variant, Clustered Table, Iceberg Compatibility."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section, in_action, in_rows
from bayou.checks.rules.data_files import DataFile, data_files
from bayou.checks.rules.other_actions import domain_value
from bayou.checks.schema_json import Column, types_of
from bayou.checks.timeline import Epoch
from bayou.protocol.features.type_widening import Widening, is_widening

_NTZ = Section("Timestamp without timezone", "ntz")
_VARIANT = Section("Variant Data Type", "variant")
_WIDENING = Section("Type Widening", "widening")
_CLUSTERING = Section("Clustered Table", "clustering")
_ICEBERG_1 = Section("Iceberg Compatibility V1", "iceberg-v1")
_ICEBERG_2 = Section("Iceberg Compatibility V2", "iceberg-v2")
_ICEBERG = (
    (_ICEBERG_1, "icebergCompatV1", "delta.enableIcebergCompatV1"),
    (_ICEBERG_2, "icebergCompatV2", "delta.enableIcebergCompatV2"),
)
SECTIONS = (_NTZ, _VARIANT, _WIDENING, _CLUSTERING, _ICEBERG_1, _ICEBERG_2)

_CHANGES = "delta.typeChanges"
_NESTED_IDS = "delta.columnMapping.nested.ids"
_DOMAIN = "delta.clustering"
_ICEBERG_TYPES = frozenset(
    ["byte", "short", "integer", "long", "float", "double", "string", "binary", "boolean", "timestamp", "timestamp_ntz", "date"]
)


def _at(epoch: Epoch, detail: str) -> Iterator[Found]:
    if epoch.metadata:
        yield in_action(epoch.metadata, detail)


def _has_type(epoch: Epoch, name: str) -> bool:
    kinds = types_of(epoch.schema) if epoch.schema else ()
    return any(each == name or (isinstance(each, Mapping) and each.get("type") == name) for each in kinds)


@_NTZ.broken("feature", "A table has a column of timestamp_ntz only if readers and writers must support timestampNtz.")
def ntz_needs_its_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if _has_type(epoch, "timestamp_ntz") and "timestampNtz" not in epoch.reader_features & epoch.writer_features:
            yield from _at(epoch, "the protocol lacks timestampNtz")


@_VARIANT.broken("feature", "A table has a column of variant only if readers and writers must support variantType.")
def variant_needs_its_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        known = epoch.reader_features & epoch.writer_features
        if _has_type(epoch, "variant") and not {"variantType", "variantType-preview"} & known:
            yield from _at(epoch, "the protocol lacks variantType")


@_VARIANT.broken(
    "shredding-feature", "delta.enableVariantShredding is only true if variantShredding and variantType are supported."
)
def shredding_needs_its_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        known = {each.removesuffix("-preview") for each in epoch.reader_features & epoch.writer_features}
        lacking = {"variantShredding"} - known
        if epoch.is_on("delta.enableVariantShredding") and lacking:
            yield from _at(epoch, f"the protocol lacks {', '.join(sorted(lacking))}")


@_WIDENING.broken("feature", "A table has delta.enableTypeWidening or type changes only if typeWidening is supported.")
def widening_needs_its_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        known = {each.removesuffix("-preview") for each in epoch.reader_features & epoch.writer_features}
        if "typeWidening" not in known:
            changed = [each.name for each in epoch.columns if _CHANGES in each.metadata]
            if epoch.is_on("delta.enableTypeWidening") or changed:
                yield from _at(epoch, f"the protocol lacks typeWidening{f', and {changed[0]} has type changes' if changed else ''}")


@_WIDENING.broken(
    "changes", "delta.typeChanges is a list of objects with fromType and toType, and fieldPath names a part of the type."
)
def type_changes_are_listed(log: RawLog) -> Iterator[Found]:
    for epoch, column in _changed(log):
        found = column.metadata[_CHANGES]
        for each in found if isinstance(found, list) else [found]:
            members = each if isinstance(each, Mapping) else {}
            if not all(isinstance(members.get(name), str) for name in ("fromType", "toType")):
                yield from _at(epoch, f"a change of {column.name} is {each!r:.60}")
            elif _part(column.type, members.get("fieldPath")) is None:
                yield from _at(epoch, f"{column.name} has no part {members.get('fieldPath')!r:.40}")


@_WIDENING.broken("supported", "Type changes are those that the protocol lists.")
def type_changes_are_supported(log: RawLog) -> Iterator[Found]:
    for epoch, column in _changed(log):
        for before, after, _ in _pairs(column):
            if not is_widening(before, after):
                yield from _at(epoch, f"{column.name} changed from {before} to {after}")


@_WIDENING.broken("current", "The last type change of a column ends with its type, and each one begins with the type before.")
def type_changes_lead_to_the_type(log: RawLog) -> Iterator[Found]:
    for epoch, column in _changed(log):
        reached: dict[object, str] = {}
        for before, after, path in _pairs(column):
            if reached.get(path, before) != before:
                yield from _at(epoch, f"{column.name} changed to {reached[path]}, and then from {before}")
            reached[path] = after
        for path, after in reached.items():
            kind = _part(column.type, path)
            if isinstance(kind, str) and kind != after and not is_widening(after, kind):
                yield from _at(epoch, f"{column.name} changed to {after}, and its type is {kind}")


@_WIDENING.broken("recorded", "A change of a column's type is recorded in delta.typeChanges.")
def type_changes_are_recorded(log: RawLog) -> Iterator[Found]:
    before: dict[tuple[str, ...], Any] = {}
    table: object = None
    for epoch in log.epochs:
        if epoch.metadata is None:
            continue
        if epoch.metadata.value.get("id") != table:
            before, table = {}, epoch.metadata.value.get("id")
        now = {each.physical_path if epoch.is_mapped else each.path: each for each in epoch.columns if each.is_leaf}
        for path, column in now.items():
            old = before.get(path)
            recorded = [(one, other) for one, other, _ in _pairs(column)]
            if old and old != column.type and is_widening(old, column.type) and not recorded:
                yield from _at(epoch, f"{column.name} changed from {old} to {column.type}")
        before = {path: each.type for path, each in now.items()}


def _changed(log: RawLog) -> Iterator[tuple[Epoch, Column]]:
    for epoch in log.epochs:
        yield from ((epoch, each) for each in epoch.columns if _CHANGES in each.metadata)


def _pairs(column: Column) -> Iterator[tuple[str, str, object]]:
    found = column.metadata.get(_CHANGES)
    for each in found if isinstance(found, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("fromType"), str) and isinstance(each.get("toType"), str):
            yield each["fromType"], each["toType"], each.get("fieldPath")


def _part(kind: Any, path: object) -> Any:
    """Return the part of a type that a `fieldPath` names; None if it has none."""
    for name in path.split(".") if isinstance(path, str) else ():
        kind = (
            kind.get({"key": "keyType", "value": "valueType", "element": "elementType"}.get(name))
            if isinstance(kind, Mapping)
            else None
        )
    return kind


@_CLUSTERING.broken("no-partitions", "A clustered table has no partition columns.")
def clustered_tables_have_no_partitions(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if epoch.supports("clustering") and epoch.partition_columns:
            yield from _at(epoch, f"the partition columns are {', '.join(epoch.partition_columns)}")


@_CLUSTERING.risky(
    "columns", "The domain delta.clustering lists clustering columns, which are columns of the schema and no variants."
)
def clustering_columns_exist(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        for action in file.of_kind("domainMetadata"):
            value = domain_value(action) if action.value.get("domain") == _DOMAIN and not action.value.get("removed") else None
            epoch = log.timeline.epoch_at(file.version)
            if value is None or epoch is None:
                continue
            known = {each.physical_path if epoch.is_mapped else each.path: each for each in epoch.columns}
            named = value.get("clusteringColumns")
            for path in named if isinstance(named, list) else [named]:
                column = known.get(
                    tuple(path) if isinstance(path, list) and all(isinstance(each, str) for each in path) else (str(path),)
                )
                if column is None or not column.is_leaf or column.type == "variant":
                    yield in_action(action, f"{path!r:.60} cannot be a clustering column")


@_CLUSTERING.risky("statistics", "The add of a file of a clustered table has statistics.")
def clustered_files_have_statistics(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if part.checkpoint is None and part.epoch.supports("clustering"):
            yield from in_rows(log, part.adds.filter(pc.is_null(part.adds["stats"])), "{path} has no statistics")


def _active(log: RawLog, feature: str, key: str) -> Iterator[Epoch]:
    yield from (each for each in log.epochs if each.supports(feature) and each.is_on(key))


def _with_iceberg(section: Section, feature: str, key: str) -> None:
    """Add the rules that both versions of the compatibility with Iceberg share."""
    add = section.broken

    @add("feature", f"{key} is only true if {feature} is supported.")
    def _(log: RawLog) -> Iterator[Found]:
        lacking = [each for each in log.epochs if each.is_on(key) and not each.supports(feature)]
        return (found for epoch in lacking for found in _at(epoch, f"writerFeatures lacks {feature}"))

    @add("mapping", "Column mapping is on.")
    def _(log: RawLog) -> Iterator[Found]:
        lacking = [each for each in _active(log, feature, key) if not each.is_mapped]
        return (found for epoch in lacking for found in _at(epoch, "the mode of column mapping is 'none'"))

    @add("vectors", "Deletion vectors are off.")
    def _(log: RawLog) -> Iterator[Found]:
        wrong = [each for each in _active(log, feature, key) if _has_vectors(each, feature)]
        return (found for epoch in wrong for found in _at(epoch, "the table has deletion vectors"))

    @add("partition-spec", "A partitioned table is not replaced by a table with other partition columns.")
    def _(log: RawLog) -> Iterator[Found]:
        active = list(_active(log, feature, key))
        pairs = [each for each in itertools.pairwise(log.epochs) if each[1] in active]
        changed = (later for before, later in pairs if _is_repartitioned(before, later))
        return (found for epoch in changed for found in _at(epoch, f"the partition columns are now {epoch.partition_columns!r}"))

    @add("num-records", "Each add has numRecords.")
    def _(log: RawLog) -> Iterator[Found]:
        parts = [each for each in log.parts if each.checkpoint is None and each.epoch.supports(feature) and each.epoch.is_on(key)]
        lacking = (part.adds.filter(pa.chunked_array([pc.is_null(part.statistics.records)])) for part in parts)
        return (found for rows in lacking for found in in_rows(log, rows, "{path} lacks numRecords"))

    @add("widening", "Type changes are those that Iceberg V2 supports.")
    def _(log: RawLog) -> Iterator[Found]:
        changes = [(epoch, each, pair) for epoch in _active(log, feature, key) for each in epoch.columns for pair in _pairs(each)]
        wrong = [each for each in changes if not is_widening(*each[2][:2], Widening.ICEBERG)]
        return (found for epoch, column, pair in wrong for found in _at(epoch, f"{column.name} is now {pair[1]}"))


def _is_repartitioned(before: Epoch, later: Epoch) -> bool:
    """Whether a table has other partition columns. A renamed column keeps its physical name, and a replaced one its name."""
    is_other = before.partition_columns != later.partition_columns and before.partition_keys != later.partition_keys
    return bool(before.partition_columns) and is_other


def _has_vectors(epoch: Epoch, feature: str) -> bool:
    """Whether a table has deletion vectors in the sense of a version of the compatibility: V1 forbids the feature itself."""
    return epoch.supports("deletionVectors") and (feature == "icebergCompatV1" or epoch.is_on("delta.enableDeletionVectors"))


for _each in _ICEBERG:
    _with_iceberg(*_each)


@_ICEBERG_1.broken("types", "The schema has no array, map or void.")
def iceberg_v1_has_no_lists(log: RawLog) -> Iterator[Found]:
    for epoch in _active(log, "icebergCompatV1", "delta.enableIcebergCompatV1"):
        for name in ("array", "map", "void"):
            if _has_type(epoch, name):
                yield from _at(epoch, f"the schema has the type {name}")


@_ICEBERG_2.broken("types", "The schema has only types that Iceberg V2 has.")
def iceberg_v2_has_known_types(log: RawLog) -> Iterator[Found]:
    for epoch in _active(log, "icebergCompatV2", "delta.enableIcebergCompatV2"):
        for kind in types_of(epoch.schema):
            if isinstance(kind, str) and kind not in _ICEBERG_TYPES and not kind.startswith(("decimal", "char", "varchar")):
                yield from _at(epoch, f"the schema has the type {kind}")


@_ICEBERG_2.broken("not-v1", "Compatibility with Iceberg V1 is off.")
def iceberg_v2_is_alone(log: RawLog) -> Iterator[Found]:
    for epoch in _active(log, "icebergCompatV2", "delta.enableIcebergCompatV2"):
        if epoch.supports("icebergCompatV1") and epoch.is_on("delta.enableIcebergCompatV1"):
            yield from _at(epoch, "both versions are active")


@_ICEBERG_2.broken(
    "nested-ids", "Elements of arrays, and keys and values of maps, have unique ids in delta.columnMapping.nested.ids."
)
def iceberg_v2_has_nested_ids(log: RawLog) -> Iterator[Found]:
    for epoch in _active(log, "icebergCompatV2", "delta.enableIcebergCompatV2"):
        ids = [each.metadata.get("delta.columnMapping.id") for each in epoch.columns]
        for column in epoch.columns:
            wanted = {f"{column.physical_path[-1]}.{each}" for each in _nested(column.type)}
            found = column.metadata.get(_NESTED_IDS) if wanted else {}
            found = found if isinstance(found, Mapping) else {}
            if wanted - set(found) or any(type(each) is not int for each in found.values()):
                yield from _at(epoch, f"those of {column.name} are {found!r:.60}")
            ids += found.values()
        if len(set(map(str, ids))) < len(ids):
            yield from _at(epoch, "an id is there twice")


def _nested(kind: Any) -> Iterator[str]:
    members = {"array": (("element", "elementType"),), "map": (("key", "keyType"), ("value", "valueType"))}
    for name, key in members.get(str(kind.get("type")), ()) if isinstance(kind, Mapping) else ():
        yield name
        yield from (f"{name}.{each}" for each in _nested(kind.get(key)))


@_ICEBERG_1.broken("partition-columns", "A data file has the partition columns after its other columns.", Reads.FOOTERS)
def iceberg_v1_files_have_partition_columns(log: RawLog) -> Iterator[Found]:
    latest = log.latest
    if latest in list(_active(log, "icebergCompatV1", "delta.enableIcebergCompatV1")) and latest.partition_keys:
        keys = latest.partition_keys
        for file in data_files(log):
            if set(_columns_of(file)[-len(keys) :]) != set(keys):
                yield file.found(log, f"its columns do not end in the partition columns {', '.join(keys)}")


@_ICEBERG_2.broken("partition-columns", "A data file that is written has the partition columns.", Reads.FOOTERS)
def iceberg_v2_files_have_partition_columns(log: RawLog) -> Iterator[Found]:
    for file in _written_for_iceberg_v2(log):
        lacking = [each for each in (log.latest.partition_keys if log.latest else ()) if each not in _columns_of(file)]
        if lacking:
            yield file.found(log, f"it lacks the partition columns {', '.join(lacking)}")


@_ICEBERG_2.broken("timestamps", "Timestamps in a data file that is written have 64 bits.", Reads.FOOTERS)
def iceberg_v2_files_have_no_wide_timestamps(log: RawLog) -> Iterator[Found]:
    for file in _written_for_iceberg_v2(log):
        if file.footer.int96:
            yield file.found(log, f"{', '.join(file.footer.int96)} have 96 bits")


def _columns_of(file: DataFile) -> list[str]:
    return [path[0] for path in file.footer.columns if len(path) == 1]


def _written_for_iceberg_v2(log: RawLog) -> Iterator[DataFile]:
    """Yield the live files that commits added since the compatibility is active. Checkpoints do not say when a file was added."""
    active = list(_active(log, "icebergCompatV2", "delta.enableIcebergCompatV2"))
    run = list(itertools.takewhile(lambda each: each in active, reversed(log.epochs)))
    for file in data_files(log) if run else ():
        version = file.row["version"]
        if version >= run[-1].start and log.files[file.row["file"]] is log.commits.get(version):
            yield file
