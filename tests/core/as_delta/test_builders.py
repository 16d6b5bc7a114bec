# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from bayou.as_delta.delta.pip_utils import configure_spark_with_delta_pip
from bayou.as_delta.delta.tables import DeltaMergeBuilder
from bayou.as_delta.sessions import options_of


@pytest.fixture
def builder():
    return (
        SparkSession.builder.appName("test")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension,a.B")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )


def test_a_configured_builder_is_the_same_one_without_what_stock_spark_has_not(builder):
    assert configure_spark_with_delta_pip(builder) is builder
    assert options_of(builder) == {"spark.app.name": "test", "spark.sql.extensions": "a.B"}


def test_extra_packages_are_added_to_those_of_the_builder(builder):
    given = builder.config("spark.jars.packages", "org.x:y:1,io.delta:delta-spark_2.13:4.0.0")
    configure_spark_with_delta_pip(given, ["org.x:y:1", "io.delta:delta-sharing-spark_2.13:4.0.0", "org.z:w:2"])
    assert options_of(builder)["spark.jars.packages"] == "org.x:y:1,org.z:w:2"


def test_configuring_again_changes_nothing(builder):
    once = options_of(configure_spark_with_delta_pip(builder, extra_packages=["org.x:y:1"]))
    assert options_of(configure_spark_with_delta_pip(builder, extra_packages=["org.x:y:1"])) == once


@pytest.mark.parametrize("wrong", [None, "builder", SparkSession])
def test_what_is_no_builder_is_refused(wrong):
    with pytest.raises(TypeError, match="must be called with a SparkSession builder"):
        configure_spark_with_delta_pip(wrong)


def test_a_fake_of_a_merge_in_the_making_may_be_derived_from_it():
    class Fake(DeltaMergeBuilder):
        def __init__(self):
            self.calls = []

        def whenMatchedDelete(self, condition=None):  # noqa: N802  (delta-spark's name)
            self.calls.append(condition)
            return self

    assert Fake().whenMatchedDelete("x").calls == ["x"]
