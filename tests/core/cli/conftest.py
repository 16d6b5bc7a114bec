# SPDX-License-Identifier: Apache-2.0
"""Tables that the command line looks at: written as text, so that each test sees what it asks about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bayou.cli import main

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "the key"}},
        {"name": "day", "type": "date", "nullable": True, "metadata": {}},
        {
            "name": "point",
            "type": {
                "type": "struct",
                "fields": [
                    {"name": "x", "type": "double", "nullable": True, "metadata": {}},
                    {
                        "name": "tags",
                        "type": {"type": "array", "elementType": "string", "containsNull": True},
                        "nullable": True,
                        "metadata": {},
                    },
                ],
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}


def add(path, *, day="2026-01-01", rows=10, **more):
    fields = {
        "path": path,
        "partitionValues": {"day": day},
        "size": 2048,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows}),
    }
    return {"add": {**fields, **more}}


@dataclass
class LogWriter:
    """Writes commits of a table."""

    folder: Path

    @property
    def path(self) -> str:
        return str(self.folder)

    def create(self, *actions, **properties):
        self.commit(
            0,
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {
                "metaData": {
                    "id": "8a7c",
                    "name": "orders",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": json.dumps(SCHEMA),
                    "partitionColumns": ["day"],
                    "configuration": properties,
                    "createdTime": 1_600_000_000_000,
                }
            },
            *actions,
            operation="CREATE TABLE",
        )
        return self

    def commit(self, version, *actions, operation="WRITE", **info):
        told = {"timestamp": version, "operation": operation, "operationParameters": {"mode": "Append"}, **info}
        log = self.folder / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        lines = map(json.dumps, ({"commitInfo": told}, *actions))
        (log / f"{version:020d}.json").write_text("\n".join(lines), encoding="utf-8")
        return self


@pytest.fixture
def writer(tmp_path):
    return LogWriter(tmp_path / "table")


@pytest.fixture
def table(writer):
    """Three versions: created, a file appended, two more appended."""
    writer.create(**{"delta.checkpointInterval": "10"})
    writer.commit(1, add("day=2026-01-01/a.parquet"), operationMetrics={"numFiles": "1"}, engineInfo="test/1")
    writer.commit(2, add("day=2026-01-02/b.parquet", day="2026-01-02"), add("day=2026-01-02/c.parquet", rows=7))
    return writer.path


@dataclass
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def bayou_command(capsys):
    """Runs the command line in this process."""

    def run(*arguments):
        code = main(list(arguments))
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run
