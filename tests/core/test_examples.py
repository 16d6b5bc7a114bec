# SPDX-License-Identifier: Apache-2.0
"""Every public function has an example in its docstring, or in that of its class. Those of the log run here."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.protocol.types.schema import StructField, StructType

FUNCTIONS = ("add_listener", "enable", "install_as_delta", "open", "read", "write")
OF_PROGRAMS = {
    # Other modules of bayou call these; they are not for users.
    "DeltaLog": {
        *("change_feed", "change_range", "committed_at", "commit_times", "end_of_checksums", "forget", "known", "known_version"),
        *("last_checksum", "latest_readable", "note_checksum", "note_end_of_checksums", "store", "update", "version_at"),
    },
    "Snapshot": {
        *(
            "described_as",
            "facts_in_memory",
            "live_rows",
            "nbytes",
            "partition_texts",
            "partitions",
            "read_source",
            "segment",
            "source",
        ),
        *("statistics", "tombstones"),
    },
}


def examples_of(documented):
    return [each.source for each in doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")]


def methods_of(cls):
    left_out = OF_PROGRAMS.get(cls.__name__, set())
    found = inspect.getmembers(cls, lambda each: inspect.isfunction(each) or inspect.ismethod(each))
    return {name: each for name, each in found if not name.startswith("_") and name not in left_out}


def classes():
    pytest.importorskip("pyspark")
    from bayou.spark.dml.merge.builder import DeltaMergeBuilder
    from bayou.spark.table.optimize import DeltaOptimizeBuilder
    from bayou.table import DeltaTable, DeltaTableBuilder

    return (DeltaTable, DeltaTableBuilder, DeltaMergeBuilder, DeltaOptimizeBuilder, bayou.DeltaLog, bayou.Snapshot)


def test_every_public_function_has_an_example():
    pytest.importorskip("pyspark")
    assert not [name for name in FUNCTIONS if not examples_of(getattr(bayou, name))]


def test_every_public_method_has_an_example_that_calls_it():
    lacking = []
    for cls in classes():
        for name, method in methods_of(cls).items():
            shown = "".join([*examples_of(method), *examples_of(cls)])
            if not re.search(rf"\.{name}\(", shown):
                lacking.append(f"{cls.__name__}.{name}")
    assert not lacking


def test_every_example_compiles():
    for cls in classes():
        for method in (cls, *methods_of(cls).values()):
            for example in examples_of(method):
                ast.parse(example)


def test_the_examples_of_the_log_run(tmp_path):
    day = tmp_path / "table" / "day=2026-11-01"
    day.mkdir(parents=True)
    pq.write_table(pa.table({"id": ["a"]}), day / "part-1.parquet")
    fields = tuple(StructField(name, "string") for name in ("id", "day"))
    names = {"bayou": bayou, "log": bayou.open(tmp_path / "table"), "schema": StructType(fields)}
    examples = examples_of(bayou.DeltaLog)
    assert len(examples) > 5
    for example in [*examples, *examples_of(bayou.DeltaLog.transaction)]:
        exec(example.replace("/tmp/", f"{tmp_path}/"), names)
    names["snapshot"] = names["log"].snapshot(0)
    optional = {"to_pandas": "pandas", "to_polars": "polars"}
    for name, method in methods_of(bayou.Snapshot).items():
        if find_spec(optional.get(name, "bayou")) is None:
            continue  # an extra that is not installed
        for example in examples_of(method):
            exec(example, names)
