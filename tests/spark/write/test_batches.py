# SPDX-License-Identifier: Apache-2.0
"""A batch that has an id is written once, whether the id is an option or the session's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.operations.writes import data_files
from tests.support.tables.built import ids

import bayou
from bayou.errors import InvalidOptionError


def test_rows_of_one_batch_are_written_once(spark, table_path, write):
    for version, rows in ((1, spark.range(3)), (1, spark.range(3)), (0, spark.range(9)), (2, spark.range(3, 5))):
        write(rows, table_path, "append", txnAppId="nightly", txnVersion=str(version))
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4]
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.version == 1
    assert snapshot.transactions["nightly"].version == 2
    assert len(data_files(table_path)) == snapshot.num_files


def test_a_replay_says_so(spark, table_path):
    assert bayou.write(spark.range(3), table_path, txn=("nightly", 1)).reason == ""
    replay = bayou.write(spark.range(3), table_path, txn=("nightly", 1))
    assert (replay.committed, replay.reason, replay.version) == (False, "replayed", 0)


def test_the_session_can_say_which_batch_is_written(spark, table_path):
    app, version, reset = (
        f"spark.databricks.delta.write.{name}" for name in ("txnAppId", "txnVersion", "txnVersion.autoReset.enabled")
    )
    try:
        spark.conf.set(app, "nightly")
        spark.conf.set(version, "5")
        spark.conf.set(reset, "true")
        bayou.write(spark.range(3), table_path)
        assert spark.conf.get(version, None) is None
        spark.conf.set(version, "5")
        assert bayou.write(spark.range(3), table_path, mode="append").reason == "replayed"
        assert spark.conf.get(version, None) is None, "what comes next is another batch"
        spark.conf.set(version, "many")
        with pytest.raises(InvalidOptionError, match="txnVersion"):
            bayou.write(spark.range(3), table_path, mode="append")
    finally:
        for name in (app, version, reset):
            spark.conf.unset(name)
    assert bayou.open(table_path).version() == 0


def test_each_operation_spends_the_batch_of_the_session_and_no_other(spark, table_path):
    app, version, reset = (
        f"spark.databricks.delta.write.{name}" for name in ("txnAppId", "txnVersion", "txnVersion.autoReset.enabled")
    )
    bayou.write(spark.range(9), table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    operations = (
        lambda **_: table.delete("id = 1"),
        lambda **_: table.update("id = 2", {"id": "20"}),
        lambda **txn: table.merge(spark.range(3, 4), "false", **txn).whenNotMatchedInsertAll().execute(),
        lambda **txn: bayou.write(spark.range(1), table_path, mode="append", **txn),
    )
    try:
        spark.conf.set(app, "nightly")
        spark.conf.set(reset, "true")
        for number, operation in enumerate(operations):
            spark.conf.set(version, str(number))
            assert operation().committed
            assert spark.conf.get(version, None) is None
            spark.conf.set(version, str(number))
            assert operation().reason == "replayed"
            assert spark.conf.get(version, None) is None
        spark.conf.set(version, "9")
        for operation in operations[2:]:
            assert operation(txn=(str(operation), 1)).committed
        assert spark.conf.get(version) == "9"
    finally:
        for name in (app, version, reset):
            spark.conf.unset(name)


@pytest.mark.parametrize("options", [{"txnAppId": "a"}, {"txnVersion": "1"}, {"txnAppId": "a", "txnVersion": "-1"}])
def test_half_a_batch_id_is_refused(spark, table_path, write, options):
    with pytest.raises(InvalidOptionError) as caught:
        write(spark.range(3), table_path, "append", **options)
    wanted = "DELTA_ILLEGAL_OPTION" if len(options) == 2 else "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"
    assert caught.value.getErrorClass() == wanted
    assert not Path(table_path).exists()
