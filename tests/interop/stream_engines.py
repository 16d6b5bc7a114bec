# SPDX-License-Identifier: Apache-2.0
"""One streaming query that either engine may run, on one checkpoint and one pair of tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.interop.oracle import run_stream


class Engines:
    """Either engine by its name, on one checkpoint and one pair of tables."""

    def __init__(self, spark, delta_spark, folder):
        self.spark = spark
        self.delta_spark = delta_spark
        self.folder = folder
        self.table = str(folder / "table")

    def run(self, engine, *, stop_at=None, name="", columns=None, sink=False, during=(), **options):
        """Runs the query under an engine; what stopped it, or None."""
        options = {key: str(value) for key, value in options.items()}
        given = {"stream": self.table, "into": self.into(name), "checkpoint": str(self.folder / f"checkpoint{name}")}
        given |= {"options": options, "stop_at": stop_at, "columns": columns, "sink": sink}
        given["during"] = [each.format(table=f"delta.`{self.table}`") for each in during]
        return self.delta_spark.stream(**given) if engine == "delta-spark" else run_stream(self.spark, given).get("error")

    def into(self, name=""):
        return str(self.folder / f"out{name}")

    def rows(self, name="", *without):
        """The rows that the query has written, each with the number of its batch.

        NULLs are left out: a batch without rows adds a new column in one engine's run, and comes to nothing in the other's.
        """
        if not Path(self.into(name), "_delta_log").exists():
            return []
        rows = self.spark.read.format("delta").load(self.into(name)).drop("_commit_timestamp", *without).collect()
        return sorted(str({key: value for key, value in row.asDict().items() if value is not None}) for row in rows)

    def offsets(self, name=""):
        """The offsets in the checkpoint, as they are written."""
        notes = Path(self.folder, f"checkpoint{name}", "offsets")
        return {int(each.name): each.read_text().splitlines()[2] for each in notes.iterdir() if each.name.isdigit()}

    def reached(self, name):
        """The version that the query's next batch begins with; -1 before the first one."""
        found = self.offsets(name) if Path(self.folder, f"checkpoint{name}", "offsets").exists() else {}
        return json.loads(found[max(found)])["reservoirVersion"] if found else -1

    def tried(self, statement):
        """Has delta-spark run a statement that may be refused."""
        return self.delta_spark.tried(statement.format(table=f"delta.`{self.table}`"))

    def sql(self, *statements):
        self.delta_spark.sql(*(each.format(table=f"delta.`{self.table}`") for each in statements))


def kind_of(error):
    """What a stream stopped for: the error class, without what is beneath it."""
    if error is None:
        return None
    found = re.search(r"\[?((?:DELTA|DIFFERENT_DELTA)_[A-Z_]+)", error)
    return found.group(1) if found else error.splitlines()[0][:300]
