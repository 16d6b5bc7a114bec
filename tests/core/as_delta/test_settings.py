# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.as_delta.settings import overrides, submit_arguments, without_delta

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_what_every_program_for_delta_spark_sets_goes():
    settings = {
        "spark.app.name": "test",
        "spark.sql.extensions": EXTENSION,
        "spark.sql.catalog.spark_catalog": CATALOG,
        "spark.jars.packages": "io.delta:delta-spark_2.12:3.2.0",
    }
    assert without_delta(settings) == {"spark.app.name": "test"}


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("spark.sql.extensions", f"a.B,{EXTENSION}", "a.B"),
        ("spark.sql.extensions", f" {EXTENSION} , a.B , c.D", "a.B,c.D"),
        ("spark.jars.packages", "io.delta:delta-core_2.12:2.4.0,org.x:y:1,io.delta:delta-storage:2.4.0", "org.x:y:1"),
        (
            "spark.jars",
            "/jars/delta-spark_2.12-3.2.0.jar,/jars/postgresql-42.jar,s3://b/delta-storage-3.2.0.jar",
            "/jars/postgresql-42.jar",
        ),
        ("spark.jars", "C:\\jars\\delta-core_2.12-2.4.0.jar,C:\\jars\\a.jar", "C:\\jars\\a.jar"),
    ],
)
def test_other_entries_of_a_list_stay(name, value, kept):
    assert without_delta({name: value}) == {name: kept}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"),
        ("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog"),
        ("spark.sql.catalog.delta", "com.example.Catalog"),
        ("spark.sql.catalog.lake.type", "hive"),
        ("spark.jars.packages", "com.example:io.delta:1, b:c:2"),
        ("spark.jars", "/opt/my-delta-core_thing.jar,/opt/deltas.jar"),
        ("spark.app.name", EXTENSION),
        ("spark.databricks.delta.schema.autoMerge.enabled", "true"),
        ("spark.sql.shuffle.partitions", 2),
    ],
)
def test_other_settings_stay_as_they_are(name, value):
    assert without_delta({name: value}) == {name: value}


@pytest.mark.parametrize("name", ["spark_catalog", "lake"])
@pytest.mark.parametrize("value", [CATALOG, "com.databricks.sql.transaction.tahoe.catalog.DeltaCatalog"])
def test_catalogs_of_delta_go_under_any_name(name, value):
    assert without_delta({f"spark.sql.catalog.{name}": value}) == {}


ENTRIES = st.lists(st.sampled_from([EXTENSION, CATALOG, "a.B", "c.D", "io.deltas.E"]), max_size=6)


@given(ENTRIES)
def test_filtering_keeps_the_others_in_their_order_and_again_changes_nothing(entries):
    once = without_delta({"spark.sql.extensions": ",".join(entries)})
    others = [each for each in entries if each not in {EXTENSION, CATALOG}]
    assert once.get("spark.sql.extensions", "") == ",".join(others)
    assert without_delta(once) == once


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("--packages io.delta:delta-core_2.12:2.4.0 pyspark-shell", "pyspark-shell"),
        ("--packages=io.delta:delta-core_2.12:2.4.0,a:b:1 pyspark-shell", "--packages=a:b:1 pyspark-shell"),
        (f"--conf spark.sql.extensions={EXTENSION} --conf spark.x=1 pyspark-shell", "--conf spark.x=1 pyspark-shell"),
        (f"-c spark.sql.catalog.spark_catalog={CATALOG} --master 'local[2]' pyspark-shell", "--master 'local[2]' pyspark-shell"),
        ("--jars /j/delta-core_2.12-2.4.0.jar,/j/a.jar pyspark-shell", "--jars /j/a.jar pyspark-shell"),
        ("--driver-memory 2g  pyspark-shell", "--driver-memory 2g  pyspark-shell"),
        ("--packages", "--packages"),
    ],
)
def test_arguments_of_spark_submit_lose_what_is_of_delta(given_text, kept):
    assert submit_arguments(given_text) == kept


WORDS = st.sampled_from(
    ["--master", "local[2]", "--packages", "a:b:1", "--conf", "spark.x=a b", "--jars=/x y.jar", "pyspark-shell"]
)


@given(st.lists(WORDS, max_size=8))
def test_arguments_without_delta_mean_the_same_afterwards(words):
    text = shlex.join([*words, "pyspark-shell"])
    assert shlex.split(submit_arguments(text)) == shlex.split(text)


def test_only_the_lines_that_bring_jars_of_delta_are_overridden():
    lines = [
        "# spark.jars.packages io.delta:delta-core_2.12:2.4.0",
        "spark.jars.packages   io.delta:delta-spark_2.13:4.0.0,a:b:1",
        "spark.jars=/j/delta-core_2.12-2.4.0.jar",
        f"spark.sql.extensions {EXTENSION}",
        "",
    ]
    assert overrides(lines) == {"spark.jars.packages": "a:b:1", "spark.jars": ""}
    assert overrides(["spark.jars.packages a:b:1"]) == {}
