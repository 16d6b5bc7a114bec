# SPDX-License-Identifier: Apache-2.0
"""What the check calls sound reads alike in delta-rs and in bayou: version, schema, live files and rows, or both refuse it."""

from __future__ import annotations

import json
import os
import tempfile

import deltalake
import pyarrow as pa
from tests.core.checks.building import found
from tests.core.checks.damaged import rearranged_table, write_to
from tests.support.cases import in_one_test

from bayou.errors import DeltaError
from bayou.log.delta_log import open_log
from bayou.protocol.types.schema import schema_to_json

SEEDS = range(int(os.environ.get("CHECKED_LOGS", "100")))


@in_one_test("seed", SEEDS)
def test_what_is_called_sound_reads_alike(seed):
    builder = rearranged_table(seed)
    if found(builder, files=True, footers=True).exit_code == 0:
        with tempfile.TemporaryDirectory() as path:
            write_to(path, builder)
            assert outcome(by_delta_rs, path, Exception) == outcome(by_bayou, path, DeltaError)


def test_some_of_the_logs_are_sound():
    reports = [found(rearranged_table(seed), files=True, footers=True) for seed in range(40)]
    assert len({each.exit_code for each in reports}) > 1


def outcome(read, path, refusal):
    """What an engine reads; only that it refuses the table, if it does with an error of the class `refusal`."""
    try:
        return read(path)
    except refusal:
        return "refused"


def by_bayou(path):
    snapshot = open_log(path).snapshot()
    schema = json.loads(schema_to_json(snapshot.schema))
    rows = snapshot.to_arrow()
    return snapshot.version, schema, files_of(snapshot.files(["path"])), rows_of(rows.column_names, rows.columns)


def by_delta_rs(path):
    table = deltalake.DeltaTable(path)
    schema = json.loads(table.schema().to_json())
    # The oldest Arrow does not know the views that delta-rs passes as strings: Python reads them from delta-rs's own table.
    rows = deltalake.QueryBuilder().register("t", table).execute("select * from t").read_all()
    return table.version(), schema, files_of(pa.table(table.get_add_actions())), rows_of(rows.column_names, rows.columns)


def files_of(actions):
    return sorted(actions["path"].to_pylist())


def rows_of(names, columns):
    return sorted(str(dict(zip(names, row, strict=True))) for row in zip(*(each.to_pylist() for each in columns), strict=True))
