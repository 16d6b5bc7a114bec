# SPDX-License-Identifier: Apache-2.0
"""Answers to the requests of a Connect client for tests: a table is a folder with one Parquet folder for each version."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.spark.portable.requests.answers import CommandAnswer, Reference
from bayou.spark.portable.requests.frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect import proto

_BY_PATH = re.compile(
    r"delta\.`([^`]+)`(?:\s+VERSION AS OF (\d+|\?))?"
    r"(\s+(?:AS\s+)?(?!WHERE|JOIN|GROUP|ORDER|ON|UNION|SELECT|TABLESAMPLE|LATERAL)\w+)?",
    re.IGNORECASE,
)


class VersionedFolders:
    """Answers for tables that are folders of versions.

    Attributes:
        asked: what was asked for, in order.
        names: paths of tables, by the names that they have in the catalog.
        commands: what answers commands, by their kind.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[str, DataFrame] = {}
        self.asked: list[str] = []
        self.names: dict[str, str] = {}
        self.commands: dict[str, Callable[[proto.Command], CommandAnswer | None]] = {"write_operation": self.write}

    def of_one_version(self) -> AbstractContextManager[None]:
        """Nothing to do: versions are read one after the other."""
        return nullcontext()

    def newest(self, path: str) -> int:
        return max(int(each.name) for each in Path(path).iterdir())

    def rows(self, path: str, version: str | None = None) -> DataFrame:
        """The same DataFrame for the same version."""
        folder = f"{path}/{self.newest(path) if version is None else version}"
        if folder not in self._frames:
            self._frames[folder] = self._spark.read.parquet(folder)
        return self._frames[folder]

    def read(self, read: proto.Read, conditions: Sequence[proto.Expression] = ()) -> DataFrame | None:  # noqa: ARG002  (all rows will do)
        if read.HasField("named_table"):
            name = read.named_table.unparsed_identifier
            self.asked.append(name)
            found = _BY_PATH.fullmatch(name)
            path = found[1] if found else self.names.get(name)
            return None if path is None else self.rows(path, read.named_table.options.get("versionAsOf"))
        source = read.data_source
        if source.format.lower() != "delta":
            return None
        path = (source.paths or [source.options["path"]])[0]
        self.asked.append(path)
        if read.is_streaming:
            folder = f"{path}/{self.newest(path)}"
            return self._spark.readStream.schema(self._spark.read.parquet(folder).schema).parquet(folder)
        return self.rows(path, source.options.get("versionAsOf"))

    def catalog(self, request: proto.Catalog) -> DataFrame | None:
        if request.WhichOneof("cat_type") == "table_exists" and request.table_exists.table_name in self.names:
            return self._spark.createDataFrame(pa.table({"value": [True]}))
        return None

    def references(self, sql: proto.SQL, place: object = None, views: object = None) -> list[Reference]:  # noqa: ARG002  (all rows will do)
        found = []
        for match in _BY_PATH.finditer(sql.query):
            version, arguments = match[2], ()
            if version == "?":
                arguments = (sql.query[: match.start(2)].count("?"),)
                version = str(sql.pos_arguments[arguments[0]].literal.integer)
            end = match.end() if match[3] is None else match.start(3)
            has_no_alias = match[3] or sql.query[: match.start()].endswith("TABLE ")
            alias = None if has_no_alias else Path(match[1]).name
            found.append(Reference(match.start(), end, self.rows(match[1], version), alias, arguments))
        return found

    def command(self, command: proto.Command) -> CommandAnswer | None:
        kind = command.WhichOneof("command_type")
        self.asked.append(kind)
        answer = self.commands.get(kind)
        return None if answer is None else answer(command)

    def starting(self, start: proto.WriteStreamOperationStart) -> AbstractContextManager[None]:  # noqa: ARG002  (no streams)
        return nullcontext()

    def write(self, command: proto.Command) -> CommandAnswer | None:
        operation = command.write_operation
        if operation.source != "delta":
            return None
        frame = frame_of(self._spark, operation.input)
        existing = Path(operation.path)
        version = self.newest(operation.path) + 1 if existing.exists() else 0
        if operation.mode == operation.SAVE_MODE_APPEND and version:
            frame = self.rows(operation.path).unionByName(frame)
        frame.write.parquet(f"{operation.path}/{version}")
        return CommandAnswer()
