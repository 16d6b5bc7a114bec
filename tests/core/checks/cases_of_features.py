# SPDX-License-Identifier: Apache-2.0
"""Cases of rules about features, columns and the schema."""

from __future__ import annotations

import json

import pyarrow as pa
from tests.core.checks.building import (
    MODE,
    OLD,
    Case,
    add,
    domain,
    field,
    log,
    mapped,
    metadata,
    parquet,
    protocol,
    remove,
    struct,
    with_file,
)
from tests.core.checks.building import with_metadata as column

from bayou.protocol.deletion_vectors.descriptor import encode_inline

NAMES = {MODE: "name", "delta.columnMapping.maxColumnId": "2"}
MAPPED = protocol("columnMapping")
ROWS = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_ids",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_versions",
}
TRACKED = protocol("rowTracking", "domainMetadata")
INLINE = encode_inline([1]).to_json()
ON = {"delta.enableDeletionVectors": "true"}
ID_AND_P = {"col-1": [1], "col-2": ["x"]}
P_AND_ID = dict(reversed(ID_AND_P.items()))
TIME = pa.array([0], pa.timestamp("us", "UTC"))
COUNTED = {"numRecords": 10}
CLUSTERED = protocol("clustering", "domainMetadata")


def named(*columns, config=NAMES, first=MAPPED, **more):
    return log([first, metadata(*columns, config=config, **more)])


def vector(first=None, config=ON, stats=COUNTED, **more):
    value = {key: each for key, each in (INLINE | more).items() if each is not None}
    return log([first or protocol("deletionVectors"), metadata(config=config), add(stats=stats, deletionVector=value)])


def mark(value):
    return domain("delta.rowTracking", json.dumps({"rowIdHighWaterMark": value}))


def tracked(*adds, config=ROWS, first=TRACKED, high=9, later=()):
    """A table with row tracking: files of ten rows."""
    files = adds or (numbered("a.parquet", 0),)
    return log([first, metadata(config=config), *files, mark(high)], *later)


def numbered(path, base, version=0, **more):
    return add(path, COUNTED, **{"baseRowId": base, "defaultRowCommitVersion": version, **more})


def one(*columns, names=(), config=None, first=None):
    return log([first or protocol(*names), metadata(*columns, config=config)])


def widened(changes, kind="long", names=("typeWidening",)):
    return one(column("id", kind, **({"delta.typeChanges": changes} if changes else {})), names=names)


def change(before="integer", after="long", **more):
    return {"fromType": before, "toType": after, **more}


def clustered(path, kind="long", **more):
    text = json.dumps({"clusteringColumns": [[path]]})
    return log([CLUSTERED, metadata(field("id", kind), field("p", "string"), **more), domain("delta.clustering", text)])


def iceberg(version, *columns, extra=(), stats=COUNTED, config=None, names=None):
    feature = f"icebergCompatV{version}"
    settings = {f"delta.enableIcebergCompatV{version}": "true", **NAMES, **(config or {})}
    features = [feature, "columnMapping", *extra] if names is None else names
    found = columns or (mapped("id", 1),)
    return log(
        [protocol(*features), metadata(*found, config={key: each for key, each in settings.items() if each}), add(stats=stats)]
    )


def iceberg_metadata(version, *columns, by=()):
    config = {f"delta.enableIcebergCompatV{version}": "true", MODE: "name", "delta.columnMapping.maxColumnId": "9"}
    return metadata(*(columns or (mapped("id", 1), mapped("p", 2, "string"))), by=[by], config=config)


def iceberg_file(version, content, kind="long"):
    """A table with a data file of the partition `p`, whose physical name is col-2."""
    head = [
        protocol(f"icebergCompatV{version}", "columnMapping"),
        iceberg_metadata(version, mapped("id", 1, kind), mapped("p", 2, "string"), by="p"),
    ]
    return with_file(content, first=head, stats={"numRecords": 1}, partitionValues={"col-2": "x"})


def array(kind="long"):
    return {"type": "array", "elementType": kind, "containsNull": True}


def identity(start=1, step=2, mark=5):
    keys = ("start", "step", "highWaterMark", "allowExplicitInsert")
    return {f"delta.identity.{key}": each for key, each in zip(keys, (start, step, mark, False), strict=True)}


def widening_of(version):
    wide = {"delta.typeChanges": [change()]}, {"delta.typeChanges": [change("integer", "double")]}
    first, second = (mapped("id", 1, kind, **each) for kind, each in zip(("long", "double"), wide, strict=True))
    return Case(lambda found: iceberg(version, found, extra=["typeWidening"]), first, second)


ICEBERG = {
    f"iceberg-v{version}-{name}": each
    for version in (1, 2)
    for name, each in {
        "feature": Case(
            lambda names, version=version: iceberg(version, names=names),
            [f"icebergCompatV{version}", "columnMapping"],
            ["columnMapping"],
        ),
        "mapping": Case(lambda mode, version=version: iceberg(version, config={MODE: mode}), "name", "none"),
        "vectors": Case(
            lambda extra, version=version: iceberg(version, extra=extra, config=ON if extra else None), [], ["deletionVectors"]
        ),
        "partition-spec": Case(
            lambda column, version=version: log(
                [protocol(f"icebergCompatV{version}", "columnMapping"), iceberg_metadata(version, by="id")],
                [iceberg_metadata(version, mapped("id", 3, "string"), mapped("p", 4, "string"), by=column)],
            ),
            *("id", "p"),
        ),
        "num-records": Case(lambda stats, version=version: iceberg(version, stats=stats), COUNTED, {}),
        "widening": widening_of(version),
    }.items()
}

CASES = ICEBERG | {
    "iceberg-v1-partition-columns": Case(lambda columns: iceberg_file(1, parquet(columns)), ID_AND_P, P_AND_ID),
    "iceberg-v2-partition-columns": Case(lambda columns: iceberg_file(2, parquet(columns)), P_AND_ID, {"col-1": [1]}),
    "iceberg-v2-timestamps": Case(
        lambda is_wide: iceberg_file(2, parquet({**ID_AND_P, "col-1": TIME}, use_deprecated_int96_timestamps=is_wide), "timestamp"),
        False,
        True,
    ),
    "mapping-mode": Case(lambda mode: named(mapped("id", 1), config={**NAMES, MODE: mode}), "id", "place"),
    "mapping-feature": Case(lambda first: named(mapped("id", 1), first=first), MAPPED, OLD),
    "mapping-physical-name": Case(named, mapped("id", 1), field("id") | {"metadata": {"delta.columnMapping.id": 1}}),
    "mapping-id": Case(lambda number: named(mapped("id", number)), 1, "1"),
    "mapping-unique-physical-name": Case(
        lambda name: named(mapped("id", 1, physical="x"), mapped("p", 2, physical=name)), "y", "x"
    ),
    "mapping-unique-id": Case(lambda number: named(mapped("id", 1), mapped("p", number, physical="x")), 2, 1),
    "mapping-max-id": Case(lambda number: named(mapped("id", number)), 2, 3),
    "mapping-max-id-grows": Case(
        lambda number: log(
            [MAPPED, metadata(mapped("id", 1), config=NAMES)],
            [metadata(mapped("id", 1), config={**NAMES, "delta.columnMapping.maxColumnId": number})],
        ),
        "3",
        "1",
    ),
    "mapping-static-physical-name": Case(
        lambda name: log(
            [MAPPED, metadata(mapped("id", 1, physical="x"), config=NAMES)],
            [metadata(mapped("new", 1, physical=name), config=NAMES)],
        ),
        "x",
        "y",
    ),
    "dv-feature": Case(vector, protocol("deletionVectors"), OLD),
    "dv-enabled": Case(
        lambda config: log([protocol("deletionVectors"), metadata(config=config)], [add(stats=COUNTED, deletionVector=INLINE)]),
        ON,
        {},
    ),
    "dv-required": Case(lambda count: vector(cardinality=count), 1, None),
    "dv-storage-type": Case(lambda kind: vector(storageType=kind), "i", "x"),
    "dv-inline-offset": Case(lambda offset: vector(offset=offset), None, 1),
    "dv-path": Case(lambda text: vector(storageType="u", pathOrInlineDv=text, offset=1), "a" * 20, "a~" * 10),
    "dv-cardinality": Case(lambda count: vector(stats={"numRecords": count}), 1, 0),
    "dv-num-records": Case(lambda stats: vector(stats=stats), COUNTED, {}),
    "dv-inline-bytes": Case(lambda size: vector(sizeInBytes=size), INLINE["sizeInBytes"], INLINE["sizeInBytes"] + 8),
    "row-tracking-feature": Case(lambda first: tracked(first=first), TRACKED, protocol("domainMetadata")),
    "row-tracking-suspended": Case(lambda value: tracked(config={**ROWS, "delta.rowTrackingSuspended": value}), "false", "true"),
    "row-tracking-materialized-names": Case(
        lambda name: tracked(config={**ROWS, "delta.rowTracking.materializedRowIdColumnName": name}), "_ids", "id"
    ),
    "row-tracking-base-row-id": Case(lambda base: tracked(numbered("a.parquet", base)), 0, None),
    "row-tracking-enabled-all": Case(
        lambda base: tracked(
            add("a.parquet", COUNTED, baseRowId=base, defaultRowCommitVersion=0),
            config={},
            later=[[metadata(config=ROWS)]],
        ),
        0,
        None,
    ),
    "row-tracking-commit-version": Case(lambda version: tracked(numbered("a.parquet", 0, version)), 0, 1),
    "row-tracking-recommitted": Case(lambda base: tracked(later=[[remove(baseRowId=base, defaultRowCommitVersion=0)]]), 0, 1),
    "row-tracking-unique-row-ids": Case(
        lambda base: tracked(numbered("a.parquet", 0), numbered("b.parquet", base), high=19), 10, 9
    ),
    "row-tracking-high-water-mark": Case(lambda high: tracked(high=high), 9, 8),
    "ntz-feature": Case(lambda names: one(field("id"), field("t", "timestamp_ntz"), names=names), ["timestampNtz"], []),
    "variant-feature": Case(lambda names: one(field("id"), field("v", "variant"), names=names), ["variantType"], []),
    "variant-shredding-feature": Case(
        lambda names: one(names=names, config={"delta.enableVariantShredding": "true"}),
        ["variantShredding", "variantType"],
        ["variantType"],
    ),
    "widening-feature": Case(lambda names: widened([change()], names=names), ["typeWidening"], []),
    "widening-changes": Case(lambda found: widened([found]), change(), {"fromType": "integer"}),
    "widening-supported": Case(lambda before: widened([change(before)]), "integer", "string"),
    "widening-current": Case(lambda kind: widened([change()], kind), "long", "string"),
    "widening-recorded": Case(
        lambda changes: log(
            [protocol("typeWidening"), metadata(field("id", "integer"))],
            [metadata(column("id", **({"delta.typeChanges": changes} if changes else {})))],
        ),
        [change()],
        [],
    ),
    "clustering-no-partitions": Case(lambda by: clustered("id", by=by), [], ["p"]),
    "clustering-columns": Case(clustered, "id", "other"),
    "clustering-statistics": Case(lambda stats: log([CLUSTERED, metadata(), add(stats=stats)]), COUNTED, None),
    "iceberg-v1-types": Case(lambda kind: iceberg(1, mapped("id", 1, kind)), "long", array()),
    "iceberg-v2-types": Case(lambda kind: iceberg(2, mapped("id", 1), mapped("v", 2, kind)), "string", "void"),
    "iceberg-v2-not-v1": Case(
        lambda value: iceberg(2, extra=["icebergCompatV1"], config={"delta.enableIcebergCompatV1": value}), "false", "true"
    ),
    "iceberg-v2-nested-ids": Case(
        lambda number: iceberg(2, mapped("id", 1, array(), **{"delta.columnMapping.nested.ids": {"col-1.element": number}})), 7, 1
    ),
    "invariant-feature": Case(
        lambda names: one(column("id", **{"delta.invariants": '{"expression": {"expression": "id > 3"}}'}), names=names),
        ["invariants"],
        [],
    ),
    "invariant-expression": Case(
        lambda text: one(column("id", **{"delta.invariants": text}), first=OLD),
        '{"expression": {"expression": "id > 3"}}',
        "id > 3",
    ),
    "constraint-feature": Case(lambda names: one(names=names, config={"delta.constraints.c": "id > 3"}), ["checkConstraints"], []),
    "constraint-expression": Case(
        lambda text: one(names=["checkConstraints"], config={"delta.constraints.c": text}), "id > 3", " "
    ),
    "generated-feature": Case(
        lambda names: one(field("id"), column("g", **{"delta.generationExpression": "id + 1"}), names=names),
        ["generatedColumns"],
        [],
    ),
    "generated-expression": Case(
        lambda text: one(field("id"), column("g", **{"delta.generationExpression": text}), names=["generatedColumns"]), "id + 1", 1
    ),
    "default-feature": Case(lambda names: one(column("id", CURRENT_DEFAULT="1"), names=names), ["allowColumnDefaults"], []),
    "default-expression": Case(
        lambda text: one(field("id"), column("v", "variant", CURRENT_DEFAULT=text), names=["allowColumnDefaults", "variantType"]),
        "NULL",
        "1",
    ),
    "identity-feature": Case(lambda names: one(column("id", **identity()), names=names), ["identityColumns"], []),
    "identity-values": Case(lambda step: one(column("id", **identity(step=step)), names=["identityColumns"]), 2, 0),
    "identity-high-water-mark": Case(lambda high: one(column("id", **identity(mark=high)), names=["identityColumns"]), 5, 6),
    "identity-fixed": Case(
        lambda start: log(
            [protocol("identityColumns"), metadata(column("id", **identity()))],
            [metadata(column("id", **identity(start=start)), config={"a": "b"})],
        ),
        1,
        3,
    ),
    "schema-json": Case(lambda text: log([OLD, metadata(schemaString=text)]), json.dumps(struct(field("id"))), '"long"'),
    "schema-type": Case(lambda kind: one(field("id", kind), first=OLD), array(), {"type": "array", "elementType": "long"}),
    "schema-field": Case(lambda value: one(field("id") | {"nullable": value}, first=OLD), True, None),
    "schema-known-type": Case(lambda kind: one(field("id", kind), first=OLD), "decimal(10,2)", "int"),
    "schema-decimal": Case(lambda kind: one(field("id", kind), first=OLD), "decimal(38,2)", "decimal(39,2)"),
    "schema-void": Case(lambda kind: one(field("id"), field("v", kind), first=OLD), "string", "void"),
    "schema-unique-name": Case(lambda name: one(field("id"), field(name), first=OLD), "other", "ID"),
    "schema-name": Case(lambda name: one(field(name), first=OLD), "an-id", "an id"),
}
