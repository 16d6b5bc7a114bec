# SPDX-License-Identifier: Apache-2.0
"""Change Metadata and Table Properties."""

from __future__ import annotations

from collections.abc import Iterator

from bayou.checks.log_file import Action
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, in_action
from bayou.checks.schema_json import columns_of, parse_schema_json

_METADATA = Section("Change Metadata", "metadata")
_PROPERTIES = Section("Table Properties", "property")
SECTIONS = (_METADATA, _PROPERTIES)

_REQUIRED = {"id": str, "format": dict, "schemaString": str, "partitionColumns": list, "configuration": dict}
_OPTIONAL = {"name": str, "description": str, "createdTime": int}
_CODECS = frozenset({"uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd"})
_BOOLEANS = (
    *("delta.appendOnly", "delta.enableChangeDataFeed", "delta.enableDeletionVectors", "delta.enableRowTracking"),
    *("delta.enableInCommitTimestamps", "delta.enableTypeWidening", "delta.checkpoint.writeStatsAsJson"),
    *("delta.checkpoint.writeStatsAsStruct", "delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2"),
    *("delta.enableVariantShredding", "delta.rowTrackingSuspended"),
)


def all_metadata(log: RawLog) -> Iterator[Action]:
    """Yield each metaData action of the commits and checkpoints."""
    for file in log.files:
        yield from file.of_kind("metaData")


@_METADATA.broken("required", "A metaData action has the fields id, format, schemaString, partitionColumns and configuration.")
def required_fields_exist(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        missing = [name for name in _REQUIRED if action.value.get(name) is None]
        if missing == ["configuration"]:
            continue
        if missing:
            yield in_action(action, f"it lacks {', '.join(missing)}")


@_METADATA.odd("configuration", "A metaData action has the field configuration.")
def configuration_exists(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        if action.value.get("configuration") is None:
            yield in_action(action, "it lacks configuration; readers take it as empty")


@_METADATA.broken("type", "The fields of a metaData action have their types.")
def fields_have_types(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        for name, kind in (_REQUIRED | _OPTIONAL).items():
            value = action.value.get(name)
            if value is not None and type(value) is not kind:
                yield in_action(action, f"{name} is {value!r:.80}")


@_METADATA.broken("configuration-strings", "Keys and values of the configuration are strings.")
def configuration_has_strings(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        found = action.value.get("configuration")
        for name, value in found.items() if isinstance(found, dict) else ():
            if not isinstance(value, str):
                yield in_action(action, f"{name} is {value!r:.80}")


@_METADATA.broken("once", "A version has at most one metaData action.")
def metadata_is_unique(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        for each in list(file.of_kind("metaData"))[1:]:
            yield in_action(each, "the version has another metaData action")


@_METADATA.broken("provider", "The format's provider is parquet.")
def provider_is_parquet(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        found = action.value.get("format")
        if isinstance(found, dict) and str(found.get("provider")).lower() != "parquet":
            yield in_action(action, f"the provider is {found.get('provider')!r}")


@_METADATA.odd("options", "The format has no options.")
def format_has_no_options(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        found = action.value.get("format")
        if isinstance(found, dict) and found.get("options"):
            yield in_action(action, f"the options are {found['options']!r:.80}")


@_METADATA.broken("partition-columns", "Partition columns are columns of the schema, each named once.")
def partition_columns_exist(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        schema = parse_schema_json(action.value.get("schemaString"))
        named = action.value.get("partitionColumns")
        if schema is None or not isinstance(named, list):
            continue
        known = {each.path[0] for each in columns_of(schema) if len(each.path) == 1}
        for name in dict.fromkeys(map(str, named)):
            if name not in known:
                yield in_action(action, f"the schema has no column {name!r}")
            elif named.count(name) > 1:
                yield in_action(action, f"the column {name!r} is named twice")


@_METADATA.broken("not-only-partitions", "Not all columns are partition columns.")
def some_columns_are_data(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if epoch.metadata and epoch.top_columns and set(epoch.top_columns) <= set(epoch.partition_columns):
            yield in_action(epoch.metadata, "all columns are partition columns")


@_METADATA.broken("partition-type", "A partition column has a primitive type other than variant.")
def partition_columns_are_primitive(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in epoch.partition_columns:
            column = epoch.top_columns.get(name)
            if epoch.metadata and column and (not column.is_leaf or column.type == "variant"):
                yield in_action(epoch.metadata, f"the type of {name!r} is {column.type!r:.80}")


@_METADATA.odd("id-is-stable", "The table's id does not change, as it does if the table is replaced.")
def id_is_stable(log: RawLog) -> Iterator[Found]:
    known = None
    for epoch in log.epochs:
        if epoch.metadata is None:
            continue
        found = epoch.metadata.value.get("id")
        if known is not None and found != known:
            yield in_action(epoch.metadata, f"the id was {known!r} and is {found!r}")
        known = found


@_PROPERTIES.risky("boolean", "Boolean properties are true or false.")
def booleans_are_booleans(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for name in _BOOLEANS:
            value = epoch.configuration.get(name, "true").lower()
            if epoch.metadata and value not in {"true", "false"}:
                yield in_action(epoch.metadata, f"{name} is {value!r}")


@_PROPERTIES.odd("codec", "delta.parquet.compression.codec is a codec that writers know.")
def codec_is_known(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        value = epoch.configuration.get("delta.parquet.compression.codec", "zstd")
        if epoch.metadata and value.lower() not in _CODECS:
            yield in_action(epoch.metadata, f"the codec is {value!r}")
