# SPDX-License-Identifier: Apache-2.0
"""`bayou.check(path, rows=True)` on tables whose log and files no engine wrote: each rule of rows finds what breaks it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.core.checks.building import field, metadata, protocol, with_metadata
from tests.support.observing import jobs
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou.cli import main
from bayou.errors import UnsupportedFeatureError
from bayou.testing.table_builder import TableBuilder

FEATURES = ("invariants", "checkConstraints", "generatedColumns", "identityColumns", "deletionVectors")
POSITIVE = {"delta.constraints.positive": "id > 0"}
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": -2, "delta.identity.highWaterMark": -5}
GENERATED = with_metadata("twice", **{"delta.generationExpression": "id * 2"})
INVARIANT = with_metadata("id", **{"delta.invariants": json.dumps({"expression": {"expression": "id > 0"}})})
NESTED = {"name": "s", "type": {"type": "struct", "fields": [field("x", nullable=False)]}, "nullable": True, "metadata": {}}
CASES = {
    "constraint-rows": (metadata(config=POSITIVE), {"id": [1, 2]}, {"id": [1, None, -1]}, 2),
    "invariant-rows": (metadata(INVARIANT), {"id": [1, 2]}, {"id": [1, 0]}, 1),
    "generated-rows": (
        *(metadata(field("id"), GENERATED), {"id": [1, None], "twice": [2, None]}),
        *({"id": [1, None, 3], "twice": [2, 1, None]}, 2),
    ),
    "identity-rows": (
        metadata(with_metadata("id", **IDENTITY, **{"delta.identity.allowExplicitInsert": False})),
        *({"id": [1, -1, -5]}, {"id": [1, 0, -7, 3]}, 3),
    ),
    "schema-not-null": (metadata(field("id", nullable=False)), {"id": [1, 2]}, {"id": [1, None]}, 1),
    "schema-char-length": (
        metadata(with_metadata("id", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(3)")),
        *({"id": ["abc", None]}, {"id": ["abcd", "a"]}, 1),
    ),
}


def table(path, head, *files, features=FEATURES):
    builder = TableBuilder(path).commit(protocol(*features), head)
    return builder.commit(*(file_of(path, f"{number}.parquet", rows) for number, rows in enumerate(files)))


@pytest.mark.parametrize("rule", CASES)
def test_rows_that_fulfil_a_condition_are_sound(spark, table_path, rule):
    head, rows, _, _ = CASES[rule]
    table(table_path, head, rows, rows)
    assert bayou.check(table_path, rows=True).findings == ()


@pytest.mark.parametrize("rule", CASES)
def test_rows_that_break_a_condition_are_counted(spark, table_path, rule):
    head, sound, broken, count = CASES[rule]
    table(table_path, head, sound, broken)
    (finding,) = bayou.check(table_path, rows=True).findings
    assert (finding.rule, finding.action) == (rule, "metaData")
    assert finding.detail.endswith(": 1 row violates it" if count == 1 else f": {count} rows violate it")


@pytest.mark.smoke
def test_all_conditions_are_counted_in_one_query(spark, table_path):
    table(table_path, metadata(field("id", nullable=False), GENERATED, config=POSITIVE), {"id": [None, -1], "twice": [None, 1]})
    with jobs(spark) as ran:
        report = bayou.check(table_path, rows=True)
    assert {each.rule: each.detail for each in report.findings} == {
        "constraint-rows": "positive, id > 0: 2 rows violate it",
        "schema-not-null": "`id`, `id` IS NOT NULL: 1 row violates it",
        "generated-rows": "`twice`, (`twice` <=> (id * 2)): 1 row violates it",
    }
    assert ran.value <= 2, "an aggregation has a job for each of its two stages"


def test_a_table_without_conditions_runs_no_job(spark, table_path):
    table(table_path, metadata(), {"id": [1]})
    with jobs(spark) as ran:
        assert bayou.check(table_path, rows=True).findings == ()
    assert ran.value == 0


def test_explicit_numbers_of_an_identity_column_are_sound(spark, table_path):
    head = metadata(with_metadata("id", **IDENTITY, **{"delta.identity.allowExplicitInsert": True}))
    table(table_path, head, {"id": [0, 100]})
    assert bayou.check(table_path, rows=True).findings == ()


def test_a_condition_of_a_struct_that_is_null_counts_its_rows(spark, table_path):
    table(table_path, metadata(NESTED), {"s": [{"x": 1}, None]})
    assert [each.rule for each in bayou.check(table_path, rows=True).findings] == ["schema-not-null"]


def test_deleted_rows_violate_nothing(spark, table_path):
    builder = table(table_path, metadata(config=POSITIVE | {"delta.enableDeletionVectors": "true"}))
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, -1]}, **without_rows([1])))
    assert bayou.check(table_path, rows=True).findings == ()


def test_a_condition_that_spark_cannot_evaluate_is_a_finding_and_the_others_are_counted(spark, table_path):
    table(table_path, metadata(config=POSITIVE | {"delta.constraints.other": "missing > 0"}), {"id": [-1]})
    first, second = bayou.check(table_path, rows=True).findings
    assert (first.rule, second.rule) == ("constraint-rows", "constraint-rows")
    assert "positive, id > 0: 1 row violates it" in {first.detail, second.detail}
    assert any("other, missing > 0: [UNRESOLVED_COLUMN" in each.detail for each in (first, second))


def test_a_missing_file_is_a_finding(spark, table_path):
    table(table_path, metadata(config=POSITIVE), {"id": [1]}, {"id": [-1]})
    Path(table_path, "1.parquet").unlink()
    (finding,) = bayou.check(table_path, rows=True).findings
    assert finding.rule == "data-file-rows"
    assert "1.parquet" in finding.detail


def test_a_feature_that_bayou_cannot_read_is_an_error(spark, table_path):
    unknown = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["new"], "writerFeatures": ["new"]}}
    TableBuilder(table_path).commit(unknown, metadata(), file_of(table_path, "a.parquet", {"id": [1]}))
    with pytest.raises(UnsupportedFeatureError, match="new"):
        bayou.check(table_path, rows=True)


def test_the_command_counts_rows(spark, table_path, capsys):
    table(table_path, metadata(config=POSITIVE), {"id": [-1]})
    assert main(["check", table_path, "--rows"]) == 2
    assert "constraint-rows" in capsys.readouterr().out


def test_columns_are_found_by_their_physical_names_and_partitions_in_the_log(spark, table_path):
    spark.sql(
        f"CREATE TABLE delta.`{table_path}` (id BIGINT NOT NULL, `a b` STRING, day DATE) USING delta PARTITIONED BY (day) "
        "TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    )
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (1, 'x', DATE'2026-01-01'), (2, NULL, NULL)")
    spark.sql(f"ALTER TABLE delta.`{table_path}` RENAME COLUMN `a b` TO `c d`")
    spark.sql(f"ALTER TABLE delta.`{table_path}` ADD CONSTRAINT known CHECK (`c d` IS NULL OR day IS NOT NULL)")
    assert bayou.check(table_path, rows=True).broken == ()
    (_, head) = (json.loads(each) for each in last_commit(table_path) if '"metaData"' in each or '"commitInfo"' in each)
    head["metaData"]["configuration"]["delta.constraints.known"] = "`c d` IS NOT NULL AND day IS NOT NULL AND id < 2"
    TableBuilder(table_path).write(f"_delta_log/{len(versions(table_path)):020d}.json", json.dumps(head))
    assert [each.detail.rpartition(": ")[2] for each in bayou.check(table_path, rows=True).broken] == ["1 row violates it"]


def versions(path):
    return sorted(Path(path, "_delta_log").glob("*[0-9].json"))


def last_commit(path):
    return versions(path)[-1].read_text(encoding="utf-8").splitlines()
