# SPDX-License-Identifier: Apache-2.0
"""Errors as users see them: each is raised through a public entry point, without a JVM, and its whole text is stored.

`EXAMPLES` has the themes, one file for each, and by name what raises the error (or what the command line says) in a folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.core.log.conflict import raced_tables
from tests.core.protocol.evolution.schema_fields import MAPPED, NESTED, PLAIN, field

import bayou
from bayou.cli import main
from bayou.log.changes.range import ChangeBounds
from bayou.log.delta_log import DeltaLog
from bayou.log.streaming.request.options import StreamOptions
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.columns.constraint_violations import new_constraint_violation, violation
from bayou.protocol.columns.constraints import Constraint, ConstraintKind, add_constraint, drop_constraint
from bayou.protocol.evolution.schema_changes import AddedColumn, add_columns, drop_columns, rename_column
from bayou.protocol.evolution.schema_merge import check_write, merge_schemas
from bayou.protocol.types.schema import ArrayType, StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

Example = Callable[[Path], object]

SCHEMA = StructType((StructField("id", "long"), StructField("day", "string")))
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
FEED = {"delta.enableChangeDataFeed": "true"}
POSITIVE = Constraint("positive", ConstraintKind.CHECK, (), "id > 0")
REQUIRED = Constraint("NOT NULL", ConstraintKind.NOT_NULL, ("id",), "id IS NOT NULL")
SHORT = Constraint("name", ConstraintKind.CHAR_VARCHAR, ("name",), "(length(`name`) <= 3)")


def struct(**columns: Any) -> StructType:
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def builder(folder: Path, **options: Any) -> TableBuilder:
    """A table of two files in as many versions, after the one that made it."""
    return TableBuilder(folder).create(**options).commit(add("a")).commit(add("b"))


def log(folder: Path, **options: Any) -> DeltaLog:
    return builder(folder, **options).log()


def dated(**options: Any) -> DeltaLog:
    """A table whose commits are a second apart."""
    made = TableBuilder(store=MemoryStore()).create(**options).commit(add("a"))
    for version in range(2):
        made.store.set_modification_time(file_names.commit_path(version), 1_700_000_000_000 + 1000 * version)
    return made.log()


def broken(folder: Path, line: str) -> object:
    """Reads a table whose last commit has this line."""
    return builder(folder).write(file_names.commit_path(2), line).log().snapshot().files()


def without(folder: Path, *versions: int) -> DeltaLog:
    made = builder(folder)
    for version in versions:
        made.delete(file_names.commit_path(version))
    return made.log()


def of_protocol(folder: Path, reader: int, writer: int, *features: str, known: bool = True) -> DeltaLog:
    named = (features, features) if reader >= 3 and known else (None, None)
    document = {"minReaderVersion": reader, "minWriterVersion": writer, "readerFeatures": named[0], "writerFeatures": named[1]}
    actions = {"protocol": {key: value for key, value in document.items() if value is not None}}
    return TableBuilder(folder).commit(actions, metadata()).log()


def damaged_checkpoint(folder: Path) -> object:
    made = builder(folder).checkpoint("v2-json")
    (path,) = [each.path for each in made.store.list_from("_delta_log/") if each.name.endswith("11.json")]
    return made.write(path, "nonsense").delete(file_names.commit_path(0)).log().snapshot().files()


def create(folder: Path, schema: Any = SCHEMA, **options: Any) -> object:
    return bayou.open(folder).create(schema, **options)


def with_property(key: str, value: str) -> Example:
    return lambda folder: create(folder, properties={key: value})


def commit(folder: Path, *actions: Any, **options: Any) -> object:
    return log(folder, **options).transaction("WRITE").commit(actions)


def raced(work: Callable[[Any], Any], *theirs: Mapping[str, Any], **options: Any) -> Example:
    """What a transaction says that another commit overtook."""

    def example(_: Path) -> object:
        made = raced_tables.table()
        transaction = raced_tables.begin(made, "DELETE")
        actions = work(transaction)
        made.commit(*theirs, info={"operation": "MERGE", "timestamp": 1_700_000_000_000, **options})
        return transaction.commit(actions)

    return example


def append(folder: Path, path: str = "day=2024-01-01/f.parquet", **columns: Any) -> object:
    """Appends a Parquet file with these columns, or one that is not there."""
    made = bayou.open(folder)
    made.create(SCHEMA, partition_by=["day"])
    if columns:
        (folder / path).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), folder / path)
    return made.append([path])


def command(*arguments: str) -> Example:
    """What the command line says of the table in the folder."""

    def example(folder: Path) -> str:
        builder(folder)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main([each.replace("<table>", str(folder)) for each in arguments])
        return f"{said.getvalue()}exit code {code}"

    return example


def stream(**options: str) -> Example:
    return lambda _: StreamOptions.from_options(options, "/t")


def in_turn(*calls: Callable[[DeltaLog], object]) -> Example:
    return lambda folder: [call(made) for made in [log(folder)] for call in calls]


EXAMPLES: Mapping[str, Mapping[str, Example]] = {
    "opening": {
        "a path without anything": lambda folder: bayou.open(folder / "nothing").snapshot(),
        "a folder without a log": lambda folder: bayou.open(folder).snapshot(),
        "a file": lambda folder: (folder / "t").write_bytes(b"x") and bayou.open(folder / "t").snapshot(),
        "an empty path": lambda _: bayou.open(""),
        "a path of another type": lambda _: bayou.open(7),  # type: ignore[arg-type]
        "a scheme that no store serves": lambda _: bayou.open("gopher://host/t"),
        "a name that bayou does not have": lambda _: bayou.delta_table,
        "DeltaTable called": lambda _: bayou.DeltaTable("t"),
        "a store under a scheme that is taken": lambda _: bayou.storage.register("file", MemoryStore),
    },
    "broken logs": {
        "an empty commit": lambda folder: broken(folder, ""),
        "a commit that is no JSON": lambda folder: broken(folder, "nonsense"),
        "a commit with a list": lambda folder: broken(folder, "[]"),
        "a file without a path": lambda folder: broken(folder, json.dumps({"add": {"size": 3}})),
        "an action that is no object": lambda folder: broken(folder, json.dumps({"add": 3})),
        "a deletion vector without fields": lambda folder: broken(folder, json.dumps(add("c", deletionVector={}))),
        "a log without metadata": lambda folder: (
            TableBuilder(folder).commit({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}).log().snapshot()
        ),
        "a missing commit": lambda folder: without(folder, 1).snapshot(),
        "a missing first commit": lambda folder: without(folder, 0).snapshot(),
        "a damaged checkpoint": damaged_checkpoint,
        "a schema that cannot be read": lambda folder: (
            builder(folder).commit({"metaData": {**metadata()["metaData"], "schemaString": "{}"}}).log().snapshot().schema
        ),
        "a checksum that disagrees": lambda folder: builder(folder).checksum(numFiles=9).log().verify_checksum(),
    },
    "features": {
        "a reader feature that bayou does not know": lambda folder: of_protocol(folder, 3, 7, "unheardOf").snapshot(),
        "a writer feature that bayou does not know": lambda folder: (
            TableBuilder(folder)
            .create(protocol=Protocol(1, 7, None, ("appendOnly", "unheardOf")))
            .log()
            .transaction("WRITE")
            .commit([AddFile("c", {}, 1, 1)])
        ),
        "a reader version above every known one": lambda folder: of_protocol(folder, 9, 7).snapshot(),
        "a table that only takes appends": lambda folder: commit(
            folder, RemoveFile("a"), configuration={"delta.appendOnly": "true"}
        ),
        "a protocol that is lower": lambda folder: commit(folder, Protocol(1, 1), protocol=VECTORS),
    },
    "time travel": {
        "a version after the latest": lambda folder: log(folder).snapshot(9),
        "a negative version": lambda folder: log(folder).snapshot(-1),
        "a version that was cleaned up": lambda folder: (
            builder(folder).checkpoint().delete(file_names.commit_path(0)).delete(file_names.commit_path(1)).log().snapshot(0)
        ),
        "a version of another type": lambda folder: log(folder).snapshot("latest"),  # type: ignore[arg-type]
        "a timestamp before the first commit": lambda _: dated().snapshot(timestamp="2020-01-01"),
        "a timestamp after the last commit": lambda _: dated().snapshot(timestamp="2030-01-01"),
        "a text that is no timestamp": lambda _: dated().snapshot(timestamp="yesterday"),
        "a time zone that does not exist": lambda _: dated().snapshot(timestamp="2023-11-14", time_zone="Mars/Base"),
        "a version and a timestamp": lambda _: dated().snapshot(0, "2023-11-14"),
    },
    "change data feed": {
        "a table without a feed": lambda _: dated().change_feed(ChangeBounds(starting_version=0)),
        "no start": lambda _: dated(configuration=FEED).change_feed(ChangeBounds(ending_version=0)),
        "a start given twice": lambda _: dated(configuration=FEED).change_feed(ChangeBounds(0, "2023-11-14")),
        "a start after the latest version": lambda _: dated(configuration=FEED).change_feed(ChangeBounds(9)),
        "an end before the start": lambda _: dated(configuration=FEED).change_feed(ChangeBounds(1, ending_version=0)),
    },
    "schemas": {
        "no columns": lambda folder: create(folder, StructType()),
        "no schema": lambda folder: create(folder, None),
        "a text that is no schema": lambda folder: create(folder, "id long"),
        "two columns of a name": lambda folder: create(folder, struct(a="long", A="long")),
        "characters that no column name has": lambda folder: create(folder, struct(**{"a b": "long"})),
        "a reserved name": lambda folder: create(folder, struct(__delta_internal_row_index="long")),
        "a type that no table has": lambda folder: create(folder, struct(t="interval day to second")),
        "an array of nothing": lambda folder: create(folder, struct(a="long", v=ArrayType("void"))),
        "a partition column that is not there": lambda folder: create(folder, partition_by=["month"]),
        "a partition column named twice": lambda folder: create(folder, partition_by=["day", "DAY"]),
        "partition columns only": lambda folder: create(folder, partition_by=["id", "day"]),
        "a table that is there": lambda folder: create(folder) and create(folder),
        "rows of another type": lambda _: check_write(SCHEMA, struct(id="string", more="long"), table_uri="/t", version=1),
        "types that cannot be merged": lambda _: merge_schemas(SCHEMA, struct(id="string")),
        "decimals that cannot be merged": lambda _: merge_schemas(struct(d="decimal(10,2)"), struct(d="decimal(12,4)")),
        "a new column of a name that is taken": lambda _: add_columns(NESTED, [AddedColumn(field("A"))], PLAIN),
        "a new column that is NOT NULL": lambda _: add_columns(NESTED, [AddedColumn(field("z", nullable=False))], PLAIN),
        "a rename without column mapping": lambda _: rename_column(NESTED, ("a",), "b", PLAIN),
        "a rename of a column that is not there": lambda _: rename_column(NESTED, ("z",), "b", MAPPED),
        "a drop of the only field of a struct": lambda _: drop_columns(NESTED, [("s", "x"), ("s", "y")], MAPPED),
    },
    "properties": {
        "an unknown property": with_property("delta.appendOnyl", "true"),
        "a value that is no boolean": with_property("delta.appendOnly", "yes"),
        "a number out of range": with_property("delta.checkpointInterval", "0"),
        "an interval of months": with_property("delta.logRetentionDuration", "1 month"),
        "a value of a few": with_property("delta.columnMapping.mode", "both"),
        "a property that writers keep": with_property("delta.columnMapping.maxColumnId", "7"),
        "a constraint as a property": with_property("delta.constraints.c", "id > 0"),
        "a feature that is not supported": with_property("delta.feature.rowTracking", "on"),
        "a feature that bayou does not know": with_property("delta.feature.unheardOf", "supported"),
        "a value of another type": lambda folder: create(folder, properties={"delta.appendOnly": True}),
    },
    "constraints": {
        "a row that breaks a CHECK constraint": lambda _: violation(
            POSITIVE, [{"id": -1}], num_violations=3, table="/t", version=1
        ),
        "a row that breaks NOT NULL": lambda _: violation(REQUIRED, [{"id": None}], table="/t", version=1),
        "a text that is too long": lambda _: violation(SHORT, [{"name": "abcd"}], table="/t", version=1),
        "a new constraint that rows break": lambda _: new_constraint_violation(POSITIVE, num_violations=3, table="/t", version=1),
        "a name that is taken": lambda _: add_constraint({"delta.constraints.c": "id > 0"}, "C", "id > 1", table="/t"),
        "a constraint that is not there": lambda _: drop_constraint({"delta.constraints.c": "id > 0"}, "d", table="/t"),
    },
    "commits": {
        "a file added twice": lambda folder: commit(folder, AddFile("c", {}, 1, 1), AddFile("./c", {}, 1, 1)),
        "a file outside of the table": lambda folder: commit(folder, AddFile("../c", {}, 1, 1)),
        "partition values for a table without": lambda folder: commit(folder, AddFile("c", {"day": "mon"}, 1, 1)),
        "a number that no log holds": lambda folder: commit(folder, AddFile("c", {}, -1, 1)),
        "something that is no action": lambda folder: commit(folder, "add"),
        "a domain without its feature": lambda folder: commit(folder, DomainMetadata("d", "x")),
        "a first commit without metadata": lambda folder: bayou.open(folder).transaction("WRITE").commit([AddFile("c", {}, 1, 1)]),
        "a transaction that is over": in_turn(
            lambda made: [each.commit([AddFile("c", {}, 1, 1)]) and each.commit() for each in [made.transaction("WRITE")]]
        ),
        "a file that is not there": append,
        "a file of other columns": lambda folder: append(folder, id=["x"]),
        "a file without its partition value": lambda folder: append(folder, "f.parquet", id=[1]),
        "a compaction that goes back": lambda folder: log(folder).compact(2, 1),
        "a txn of another type": lambda folder: log(folder).transaction("WRITE", txn="nightly"),
        "a filter on a column that is not there": lambda folder: log(folder).snapshot().files(where=[("month", "==", 1)]),
        "a filter with an unknown operator": lambda folder: log(folder).snapshot().files(where=[("id", "~", 1)]),
        "a filter with a value of another type": lambda folder: log(folder).snapshot().files(where=[("id", "==", "x")]),
    },
    "conflicts": {
        "files that the operation should have read": raced(raced_tables.delete_monday, raced_tables.theirs("w1")),
        "a file that the operation read is gone": raced(raced_tables.delete_monday, remove("mon")),
        "a file that the operation removes is gone": raced(lambda _: [RemoveFile("mon")], remove("mon")),
        "a file that the operation adds, too": raced(lambda _: [raced_tables.file("new")], raced_tables.theirs("new")),
        "another schema": raced(raced_tables.insert, metadata({"id": "long"}, partition_by=["day"])),
        "a property, too": raced(
            raced_tables.alter, metadata(raced_tables.SCHEMA, partition_by=["day"], configuration={"note": "theirs"})
        ),
        "a feature that bayou does not know": raced(
            raced_tables.insert,
            {"protocol": Protocol(3, 7, ("unheardOf",), ("appendOnly", "invariants", "unheardOf")).to_json()},
        ),
        "the protocol, too": raced(
            lambda _: [Protocol(1, 7, None, ("inCommitTimestamp", "appendOnly", "invariants"))],
            {"protocol": Protocol(1, 7, None, ("domainMetadata", "appendOnly", "invariants")).to_json()},
        ),
        "the same application": raced(
            lambda transaction: [
                raced_tables.file("new"),
                SetTransaction("mine", (transaction.application_version("mine") or 0) + 1),
            ],
            {"txn": {"appId": "mine", "version": 1}},
        ),
    },
    "streams": {
        "a limit that is no number": stream(maxFilesPerTrigger="many"),
        "a size that is none": stream(maxBytesPerTrigger="ten"),
        "a start that is no version": stream(startingVersion="newest"),
        "two starts": stream(startingVersion="1", startingTimestamp="2024-01-01"),
        "a flag that is none": stream(ignoreDeletes="maybe"),
        "a pattern that is none": stream(excludeRegex="("),
        "a schema log that misses commits": stream(schemaTrackingLocation="/c/s", failOnDataLoss="false"),
    },
    "command line": {
        "a path without a table": command("history", "<table>/nothing"),
        "a version that is not there": command("detail", "<table>", "--version", "9"),
        "a text that is no timestamp": command("files", "<table>", "--timestamp", "yesterday"),
        "a version and a timestamp": command("schema", "<table>", "--version", "0", "--timestamp", "2024-01-01"),
    },
}


def rendered() -> dict[str, str]:
    """The content of each file by its path."""
    texts = {}
    for theme, examples in EXAMPLES.items():
        blocks = []
        for name, example in examples.items():
            with tempfile.TemporaryDirectory() as folder:
                blocks.append(block(name, example, Path(folder).resolve()))
        texts[file_name(theme)] = "\n".join(blocks)
    return texts


def file_name(theme: str) -> str:
    return f"rendered/{theme.replace(' ', '_')}.txt"


def block(name: str, example: Example, folder: Path) -> str:
    """An error as it is stored: its name and class, and then its text."""
    try:
        found = example(folder)
    except Exception as error:  # noqa: BLE001  (whatever a user gets)
        found = error
    assert isinstance(found, Exception | str), f"{name}: nothing was raised"
    kind = f" ({type(found).__name__})" if isinstance(found, Exception) else ""
    text = str(found)
    for place in (f"file://{folder}", str(folder), "file:///memory/table"):
        text = text.replace(place, "<table>")
    return f"# {name}{kind}\n{text}\n"
