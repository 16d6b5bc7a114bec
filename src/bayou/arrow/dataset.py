# SPDX-License-Identifier: Apache-2.0
"""A snapshot as a dataset of PyArrow, which knows Parquet files and partition values, and nothing else of a Delta table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from bayou.arrow.data_files import DataFiles
from bayou.arrow.old_calendar import has_old_calendar
from bayou.arrow.types import arrow_schema, check_types
from bayou.errors import DeltaError, failed
from bayou.protocol.actions import paths
from bayou.protocol.properties import mapping_mode
from bayou.protocol.types.char_varchar import type_with_chars

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from bayou.arrow.reader import Readable
    from bayou.storage.store import LogStore

_INT96: Final = "INT96"


def to_dataset(snapshot: Readable, store: LogStore) -> ds.Dataset:
    """Return a dataset that reads exactly the rows of a snapshot.

    Raises:
        UnsupportedFeatureError: a dataset would read other rows or values; the error says why.
    """
    _check_table(snapshot, store)
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    partitions = {found.physical_name for found in fields if found is not None}
    schema = arrow_schema(snapshot.schema.fields)
    listed = snapshot.files(["path", "deletion_vector"])
    if listed["deletion_vector"].null_count < listed.num_rows:
        raise _refused(snapshot, "rows are deleted by deletion vectors")
    files, values = DataFiles(store, snapshot.table_uri, None), snapshot.partitions()
    format_, disk = ds.ParquetFileFormat(), fs.LocalFileSystem()
    fragments = []
    for position, path in enumerate(listed["path"].to_pylist()):
        with files.opened(path, snapshot) as opened:
            why = _difference(opened, schema, partitions)
        if why:
            raise _refused(snapshot, why, file=paths.to_uri(path, snapshot.table_uri))
        place = store.local_path(paths.canonical(path, snapshot.table_uri))
        held = _partition({name[0]: found[position] for name, found in values.items()})
        fragments.append(format_.make_fragment(place, disk, partition_expression=held))
    return ds.FileSystemDataset(fragments, schema, format_, disk)


def _check_table(snapshot: Readable, store: LogStore) -> None:
    check_types(snapshot.schema.fields, snapshot)
    if mapping_mode(snapshot.metadata.configuration) != "none":
        raise _refused(snapshot, "the table maps columns")
    if store.local_path("") is None:
        raise _refused(snapshot, "the table is not on the local disk")
    if any(type_with_chars(each) is not None for each in snapshot.schema.fields):
        raise _refused(snapshot, "the table has columns of the type char, whose values readers pad")


def _difference(file: pq.ParquetFile, schema: pa.Schema, partitions: set[str]) -> str:
    """Return why a dataset would not read a file's columns as the table's; empty if it does."""
    if has_old_calendar(file.metadata):
        return "a file is of an older Spark, which had another calendar"
    columns = [file.schema.column(number) for number in range(len(file.schema))]
    if any(each.physical_type == _INT96 for each in columns):
        return "a file has timestamps as INT96"
    lower = {name.lower(): name for name in schema.names}
    for each in file.schema_arrow:
        name = lower.get(each.name.lower())
        if each.name in partitions:
            return f"a file holds the partition column {each.name!r}"
        if name is not None and (name != each.name or _plain(each.type) != _plain(schema.field(name).type)):
            return f"column {name!r} has another type or name in a file"
    return ""


def _plain(kind: pa.DataType) -> str:
    """Return a type without names and nullability of list elements, which say nothing about values."""
    types = pa.types
    if types.is_list(kind):
        return f"list<{_plain(kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{_plain(kind.key_type)},{_plain(kind.item_type)}>"
    if types.is_struct(kind):
        return f"struct<{','.join(f'{each.name}:{_plain(each.type)}' for each in kind)}>"
    return str(kind)


def _partition(values: Mapping[str, pa.Scalar]) -> Any:
    """Return what PyArrow takes as the partition values of a file."""
    tests = [ds.field(name) == value if value.is_valid else ds.field(name).is_null() for name, value in values.items()]
    return reduce(and_, tests) if tests else ds.scalar(True)


def _refused(snapshot: Readable, why: str, file: str | None = None) -> DeltaError:
    return failed("dataset-not-exact", at=snapshot, why=why, file=file)
