# SPDX-License-Identifier: Apache-2.0
"""Logs for the tests of rules, action by action, with nothing that the case does not say."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.checks.run import check_store
from bayou.protocol.features.features import FEATURES
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, encode_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.checks.report import Report

OLD = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
INFO = {"timestamp": 1_700_000_000_000, "operation": "WRITE", "engineInfo": "writer/1"}
COMMIT = "_delta_log/{:020d}.json"
CHECKPOINT = "_delta_log/{:020d}.checkpoint.parquet"
CHECKSUM = "_delta_log/{:020d}.crc"
HINT = "_delta_log/_last_checkpoint"
MODE = "delta.columnMapping.mode"


@dataclass(frozen=True)
class Case:
    """A table that is sound with one value, and that breaks a rule with another one."""

    build: Callable[[Any], TableBuilder]
    sound: Any
    broken: Any


def protocol(*names, reader=3, writer=7, **more):
    """The versions 3 and 7, and features; those for readers too in both lists."""
    lists = {"readerFeatures": [each for each in names if FEATURES[each].reader_writer], "writerFeatures": list(names)}
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer, **lists, **more}}


def field(name, kind="long", *, nullable=True, **metadata):
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "metadata": {key.replace("__", "."): each for key, each in metadata.items()},
    }


def mapped(name, number, kind="long", physical=None, **metadata):
    mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": {**mapping, **metadata}}


def with_metadata(name, kind="long", **metadata):
    return field(name, kind) | {"metadata": metadata}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def metadata(*fields, by=(), config=None, **more):
    value = {
        "id": "11111111-2222-3333-4444-555555555555",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(struct(*(fields or (field("id"),)))),
        "partitionColumns": list(by),
        "configuration": config or {},
    }
    return {"metaData": {key: each for key, each in (value | more).items() if each is not None}}


def add(path="a.parquet", stats=None, **more):
    value = {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 1_700_000_000_000, "dataChange": True, **more}
    value |= {} if stats is None else {"stats": stats if isinstance(stats, str) else json.dumps(stats)}
    return {"add": {key: each for key, each in value.items() if each is not None}}


def remove(path="a.parquet", **more):
    value = {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True, **more}
    return {"remove": {key: each for key, each in value.items() if each is not None}}


def cdc(path="_change_data/c.parquet", **more):
    value = {"path": path, "partitionValues": {}, "size": 10, "dataChange": False, **more}
    return {"cdc": {key: each for key, each in value.items() if each is not None}}


def domain(name="mine", configuration="{}", **more):
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": False, **more}}


def lines(*actions):
    return "\n".join(json.dumps(each) for each in actions)


def log(*commits, info=True):
    """A table of some commits; each is a list of actions, with a commitInfo before them unless they have one."""
    builder = TableBuilder(store=MemoryStore())
    for version, actions in enumerate(commits):
        has_info = any("commitInfo" in each for each in actions)
        head = [] if has_info or not info else [{"commitInfo": INFO}]
        builder.write(COMMIT.format(version), lines(*head, *actions))
        builder.version = version
    return builder


def table(*actions, later=(), at=None):
    """A table without features; the actions are in its first commit."""
    return log([OLD, metadata(), *actions], *later)


def checkpoint(builder, *actions, version=None):
    return builder.write(CHECKPOINT.format(builder.version if version is None else version), encode_parquet(actions))


def parquet(columns, **options):
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out, **options)
    return out.getvalue()


def with_file(content, *commits, path="a.parquet", stats=None, first=None, **more):
    """A table with one data file of the size that its add states."""
    builder = log([*(first or [OLD, metadata()]), add(path, stats, **{"size": len(content), **more})], *commits)
    return builder.write(path, content)


def found(builder, **looks) -> Report:
    return check_store(builder.uri, builder.store, {}, **looks)
