# SPDX-License-Identifier: Apache-2.0
"""Cases of rules about actions: metaData, add, remove, cdc, txn, commitInfo, domainMetadata, protocol."""

from __future__ import annotations

from tests.core.checks.building import INFO, OLD, Case, add, cdc, domain, field, log, metadata, protocol, remove, struct, table

TWO = (field("id"), field("p", "string"))
FEED = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, metadata(config={"delta.enableChangeDataFeed": "true"})]
APPEND_ONLY = [OLD, metadata(config={"delta.appendOnly": "true"})]
TIMES = {"delta.enableInCommitTimestamps": "true"}
VECTOR = {"storageType": "u", "pathOrInlineDv": "a" * 20, "offset": 1, "sizeInBytes": 30, "cardinality": 1}
VECTORS = [protocol("deletionVectors"), metadata(config={"delta.enableDeletionVectors": "true"})]
COUNTED = {"numRecords": 10}


def with_metadata(**more):
    return log([OLD, metadata(**more)])


def info(**more):
    return {"commitInfo": INFO | more}


ICT = [protocol("inCommitTimestamp"), metadata(config=TIMES)]

CASES = {
    "metadata-required": Case(lambda value: with_metadata(id=value), "x", None),
    "metadata-configuration": Case(lambda value: with_metadata(configuration=value), {}, None),
    "metadata-type": Case(lambda value: with_metadata(name=value), "x", 1),
    "metadata-configuration-strings": Case(lambda value: with_metadata(config={"a": value}), "1", 1),
    "metadata-once": Case(lambda more: log([OLD, metadata(), *more]), [], [metadata()]),
    "metadata-provider": Case(lambda name: with_metadata(format={"provider": name}), "parquet", "orc"),
    "metadata-options": Case(lambda value: with_metadata(format={"provider": "parquet", "options": value}), {}, {"a": "b"}),
    "metadata-partition-columns": Case(lambda name: log([OLD, metadata(*TWO, by=[name])]), "p", "q"),
    "metadata-not-only-partitions": Case(lambda names: log([OLD, metadata(*TWO, by=names)]), ["p"], ["p", "id"]),
    "metadata-partition-type": Case(
        lambda kind: log([OLD, metadata(field("id"), field("p", kind), by=["p"])]), "string", struct(field("a"))
    ),
    "metadata-id-is-stable": Case(lambda name: log([OLD, metadata(id="x")], [metadata(id=name, config={"a": "b"})]), "x", "y"),
    "property-boolean": Case(lambda value: with_metadata(config={"delta.appendOnly": value}), "true", "yes"),
    "property-codec": Case(lambda value: with_metadata(config={"delta.parquet.compression.codec": value}), "ZSTD", "brotli"),
    "file-add-required": Case(lambda value: table(add(size=value)), 10, None),
    "file-remove-required": Case(lambda value: table(add(), later=[[remove(dataChange=value)]]), True, None),
    "file-remove-timestamp": Case(lambda value: table(add(), later=[[remove(deletionTimestamp=value)]]), 1, None),
    "file-path": Case(lambda path: table(add(path)), "a/b.parquet", "_delta_log/b.parquet"),
    "file-path-encoding": Case(lambda path: table(add(path)), "a%20b.parquet", "a b.parquet"),
    "file-size": Case(lambda size: table(add(size=size)), 10, -10),
    "file-empty": Case(lambda size: table(add(size=size)), 10, 0),
    "file-time": Case(lambda time: table(add(modificationTime=time)), 1_700_000_000_000, 1_700_000_000_000_000),
    "file-unique-in-commit": Case(lambda path: table(add(), add(path)), "b.parquet", "a.parquet"),
    "file-add-and-remove": Case(lambda path: table(add(), later=[[remove(), add(path)]]), "b.parquet", "a.parquet"),
    "file-one-vector-per-path": Case(
        lambda actions: log([*VECTORS, add()], [*actions, add(stats=COUNTED, deletionVector=VECTOR)]), [remove()], []
    ),
    "file-remove-of-unknown": Case(lambda path: table(add(), later=[[remove(path)]]), "a.parquet", "b.parquet"),
    "file-data-change": Case(lambda actions: table(add(), later=[[*actions, add("b.parquet", dataChange=False)]]), [remove()], []),
    "file-extended-metadata": Case(
        lambda size: table(add(), later=[[remove(extendedFileMetadata=True, partitionValues={}, size=size)]]), 10, None
    ),
    "cdc-required": Case(lambda size: log(FEED, [cdc(size=size)]), 10, None),
    "cdc-data-change": Case(lambda value: log(FEED, [cdc(dataChange=value)]), False, True),
    "cdc-folder": Case(lambda path: log(FEED, [cdc(path)]), "_change_data/c.parquet", "c.parquet"),
    "cdc-enabled": Case(lambda first: log(first, [cdc()]), FEED, [OLD, metadata()]),
    "append-only-no-removes": Case(
        lambda change: log(
            [*APPEND_ONLY, add()], [add("c.parquet")], [remove(dataChange=change), add("b.parquet", dataChange=change)]
        ),
        False,
        True,
    ),
    "txn-fields": Case(lambda value: table({"txn": {"appId": "x", "version": value}}), 1, "1"),
    "txn-unique": Case(lambda name: table(*({"txn": {"appId": each, "version": 1}} for each in ("x", name))), "y", "x"),
    "commit-info-object": Case(lambda more: table(info(), *more), [], [info()]),
    "commit-info-exists": Case(lambda has_info: log([OLD, metadata()], info=has_info), True, False),
    "commit-info-unknown-action": Case(lambda name: table({name: {"appId": "x", "version": 1}}), "txn", "news"),
    "commit-info-txn-id": Case(
        lambda more: log(
            [info(inCommitTimestamp=1, **more), protocol("catalogManaged", "inCommitTimestamp"), metadata(config=TIMES)]
        ),
        {"txnId": "t"},
        {},
    ),
    "domain-fields": Case(lambda value: log([protocol("domainMetadata"), metadata(), domain(configuration=value)]), "{}", 1),
    "domain-unique": Case(lambda name: log([protocol("domainMetadata"), metadata(), domain("x"), domain(name)]), "y", "x"),
    "domain-feature": Case(lambda names: log([protocol(*names), metadata(), domain()]), ["domainMetadata"], []),
    "domain-system": Case(lambda name: log([protocol("domainMetadata"), metadata(), domain(name)]), "mine", "delta.mine"),
    "domain-system-json": Case(
        lambda text: log([protocol("domainMetadata"), metadata(), domain("delta.rowTracking", text)]),
        '{"rowIdHighWaterMark": 1}',
        "1",
    ),
    "ict-feature": Case(
        lambda names: log([info(inCommitTimestamp=1), protocol(*names), metadata(config=TIMES)]), ["inCommitTimestamp"], []
    ),
    "ict-first-action": Case(lambda more: log([info(**more), *ICT]), {"inCommitTimestamp": 1}, {}),
    "ict-increases": Case(lambda time: log([info(inCommitTimestamp=1), *ICT], [info(inCommitTimestamp=time), add()]), 2, 1),
    "ict-enablement": Case(
        lambda version: log(
            [OLD, metadata()],
            [
                info(inCommitTimestamp=9),
                protocol("inCommitTimestamp"),
                metadata(
                    config={
                        **TIMES,
                        "delta.inCommitTimestampEnablementVersion": version,
                        "delta.inCommitTimestampEnablementTimestamp": "9",
                    }
                ),
            ],
        ),
        "1",
        "0",
    ),
    "protocol-required": Case(
        lambda value: log([{"protocol": {"minReaderVersion": 1, "minWriterVersion": value}}, metadata()]), 2, 0
    ),
    "protocol-known": Case(
        lambda more: log([{"protocol": {**OLD["protocol"], **more}}, metadata()]), {"minWriterVersion": 4}, {"minWriterVersion": 8}
    ),
    "protocol-once": Case(lambda more: log([OLD, *more, metadata()]), [], [OLD]),
    "protocol-reader-3-needs-writer-7": Case(
        lambda versions: log(
            [
                protocol(**versions)
                if versions["writer"] == 7
                else {"protocol": {"minReaderVersion": 3, "minWriterVersion": versions["writer"], "readerFeatures": []}},
                metadata(),
            ]
        ),
        {"writer": 7},
        {"writer": 5},
    ),
    "feature-lists": Case(lambda more: log([{"protocol": {**OLD["protocol"], **more}}, metadata()]), {}, {"writerFeatures": []}),
    "feature-names": Case(
        lambda name: log([protocol("deletionVectors", writerFeatures=["deletionVectors", name]), metadata()]),
        "appendOnly",
        "deletionVectors",
    ),
    "feature-reader-also-writer": Case(
        lambda names: log([protocol("deletionVectors", writerFeatures=names), metadata()]), ["deletionVectors"], ["appendOnly"]
    ),
    "feature-writer-only": Case(lambda names: log([protocol("appendOnly", readerFeatures=names), metadata()]), [], ["appendOnly"]),
    "feature-reader-writer": Case(
        lambda names: log([protocol("deletionVectors", readerFeatures=names), metadata()]), ["deletionVectors"], []
    ),
    "feature-unknown": Case(lambda name: log([protocol(writerFeatures=[name]), metadata()]), "appendOnly", "appendOnlyX"),
    "feature-requires": Case(lambda names: log([protocol("clustering", *names), metadata()]), ["domainMetadata"], []),
}
