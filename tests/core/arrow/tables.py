# SPDX-License-Identifier: Apache-2.0
"""Tables with rows, whose files and log are written by hand."""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, StructField
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add


def parquet(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def built(schema, files, *, root=None, partition_by=(), configuration=None, protocol=None, **options):
    """A table of files: each a table of Arrow, or a pair of it and more fields of its `add`."""
    builder = TableBuilder(root) if root is not None else TableBuilder(store=MemoryStore())
    builder.create(schema, partition_by=partition_by, configuration=configuration, protocol=protocol)
    adds = []
    for number, given in enumerate(files):
        rows, more = given if isinstance(given, tuple) else (given, {})
        builder.write(f"f{number}.parquet", parquet(rows, **options))
        adds.append(add(f"f{number}.parquet", **more))
    return builder.commit(*adds)


def snapshot(*given, **options):
    return built(*given, **options).log().snapshot()


def without_rows(*positions):
    """The field of an `add` whose deletion vector has some positions."""
    return {"deletionVector": encode_inline(positions).to_json()}


def mapped(name, kind, physical, number, **options):
    return StructField(name, kind, metadata={PHYSICAL_NAME: physical, FIELD_ID: number}, **options)
