# SPDX-License-Identifier: Apache-2.0
"""Cases of rules about statistics, partition values, data files and their footers, and files of deletion vectors."""

from __future__ import annotations

from uuid import UUID

import pyarrow as pa
from tests.core.checks.building import MODE, OLD, Case, add, field, log, mapped, metadata, parquet, protocol, table, with_file

from bayou.protocol.deletion_vectors.descriptor import encode_file

IDS = pa.table({"id": pa.array([1, 2, None], pa.int64())})
UUID_1 = UUID("12345678-1234-5678-1234-567812345678")
VECTOR_FILE, (VECTOR,) = encode_file([[1]], UUID_1)
VECTORS = [protocol("deletionVectors"), metadata(config={"delta.enableDeletionVectors": "true"})]
VECTOR_PATH = VECTOR.relative_path
BY_P = [OLD, metadata(field("id"), field("p", "date"), by=["p"])]


def of_columns(columns, *fields, stats=None, first=None, config=None, **more):
    content = parquet(columns)
    heads = [first or OLD, metadata(*fields, config=config)]
    return with_file(content, first=heads, stats=stats, **more)


def with_vector(path, content):
    return (
        log([*VECTORS, add(stats={"numRecords": 10}, deletionVector=VECTOR.to_json())])
        .write("a.parquet", "0123456789")
        .write(path, content)
    )


def variant(*members):
    return {"v": pa.array([dict.fromkeys(members, b"x")], pa.struct([(each, pa.binary()) for each in members]))}


def with_variant_bounds(low):
    bounds = {"numRecords": 1, "minValues": {"v": low}, "maxValues": {"v": "0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K"}}
    return log([protocol("variantType"), metadata(field("id"), field("v", "variant")), add(stats=bounds)])


def with_id(number):
    return pa.table(
        [pa.array([1], pa.int64())], schema=pa.schema([pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": number})])
    )


CASES = {
    "data-file-exists": Case(lambda path: table(add()).write(path, "0123456789"), "a.parquet", "b.parquet"),
    "data-file-size": Case(lambda text: table(add()).write("a.parquet", text), "0123456789", "0123"),
    "footer-readable": Case(with_file, parquet(IDS), b"not Parquet"),
    "footer-columns": Case(lambda name: of_columns({"id": [1], name: ["x"]}, field("id"), field("p", "string")), "p", "q"),
    "footer-types": Case(lambda kind: of_columns({"id": pa.array([1], kind)}), pa.int32(), pa.float64()),
    "footer-utc": Case(
        lambda zone: of_columns({"t": pa.array([1], pa.timestamp("us", tz=zone))}, field("t", "timestamp")), "UTC", None
    ),
    "footer-variant": Case(
        lambda members: of_columns(variant(*members), field("v", "variant"), first=protocol("variantType")),
        ["metadata", "value"],
        ["metadata", "value", "typed_value"],
    ),
    "footer-field-ids": Case(
        lambda number: of_columns(
            with_id(number),
            mapped("id", 1),
            first=protocol("columnMapping"),
            config={MODE: "id", "delta.columnMapping.maxColumnId": "1"},
        ),
        "1",
        "2",
    ),
    "footer-num-records": Case(lambda count: of_columns(IDS, stats={"numRecords": count}), 3, 4),
    "footer-null-count": Case(lambda count: of_columns(IDS, stats={"numRecords": 3, "nullCount": {"id": count}}), 1, 2),
    "footer-min-max": Case(
        lambda low: of_columns(
            IDS, stats={"numRecords": 3, "minValues": {"id": low}, "maxValues": {"id": 2}, "nullCount": {"id": 1}}
        ),
        1,
        2,
    ),
    "dv-format-exists": Case(lambda path: with_vector(path, VECTOR_FILE), VECTOR_PATH, "other.bin"),
    "dv-format-bytes": Case(lambda content: with_vector(VECTOR_PATH, content), VECTOR_FILE, VECTOR_FILE[:-1] + b"?"),
    "stats-variant": Case(with_variant_bounds, "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu", "not Z85 text"),
    "stats-json": Case(lambda text: table(add(stats=text)), '{"numRecords": 1}', "{"),
    "stats-num-records": Case(lambda count: table(add(stats={"numRecords": count})), 1, -1),
    "stats-null-count": Case(lambda count: table(add(stats={"numRecords": 3, "nullCount": {"id": count}})), 3, 4),
    "stats-min-max": Case(lambda low: table(add(stats={"numRecords": 3, "minValues": {"id": low}, "maxValues": {"id": 5}})), 5, 6),
    "stats-all-null": Case(
        lambda count: table(
            add(stats={"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": count}})
        ),
        2,
        3,
    ),
    "partition-keys": Case(lambda values: log([*BY_P, add(partitionValues=values)]), {"p": "2026-01-01"}, {}),
    "partition-value": Case(lambda text: log([*BY_P, add(partitionValues={"p": text})]), "2026-01-01", "yesterday"),
}
