# SPDX-License-Identifier: Apache-2.0
"""What importing bayou, and looking at a table without Spark, loads: seen in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

REPORT = "\nimport json, sys\nprint(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"

COMMITS = [
    [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "0b1a",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": '{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]}',
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
        {"commitInfo": {"timestamp": 0, "operation": "CREATE TABLE", "operationParameters": {}}},
    ]
]


def modules_after(code, *arguments):
    """The top-level modules that a fresh interpreter holds after the code ran."""
    run = subprocess.run([sys.executable, "-c", code + REPORT, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.fixture
def table(tmp_path):
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(COMMITS):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    return str(log.parent)


def test_importing_bayou_loads_neither_spark_nor_arrow():
    loaded = modules_after("import bayou; bayou.__version__")
    assert not loaded & {"pyspark", "py4j", "pyarrow", "numpy", "pandas", "click", "rich"}


def test_importing_the_protocol_loads_the_standard_library_only():
    assert "pyarrow" not in modules_after("import bayou.protocol.actions, bayou.protocol.schema")


def test_a_history_listing_does_not_load_spark(table):
    loaded = modules_after("import bayou, sys\nassert len(bayou.open(sys.argv[1]).history()) == 1", table)
    assert not loaded & {"pyspark", "py4j", "deltalake"}


def test_a_snapshot_does_not_load_spark(table):
    loaded = modules_after("import bayou, sys\nassert bayou.open(sys.argv[1]).snapshot().num_files == 0", table)
    assert not loaded & {"pyspark", "py4j", "deltalake"}


@pytest.mark.parametrize("command", ["history", "detail", "schema", "files", "log"])
def test_the_command_line_does_not_load_spark(table, command):
    code = f"import sys\nfrom bayou.cli import main\nassert main([{command!r}, sys.argv[1]]) == 0"
    assert not modules_after(code, table) & {"pyspark", "py4j", "deltalake"}
