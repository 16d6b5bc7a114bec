# SPDX-License-Identifier: Apache-2.0
"""Every boolean setting of Spark, flipped: a table holds what plain Parquet files hold under it, or is refused by name."""

from __future__ import annotations

import random

import pytest
from tests.scenarios.spark.sessions import setting_scenario
from tests.scenarios.spark.sessions.setting_scenario import KINDS, boolean_settings, flipped

from bayou.errors import DeltaError
from bayou.spark.pinned_settings import PINS

DANGEROUS = (
    "spark.sql.parquet.fieldId.write.enabled",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.execution.arrow.useLargeVarTypes",
    "spark.sql.ansi.enabled",
)
_DRAWN = 1
NEWER = {
    "spark.sql.legacy.bangEqualsNot",
    "spark.sql.legacy.consecutiveStringLiterals.enabled",
    "spark.sql.legacy.duplicateBetweenInput",
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing",
    "spark.sql.parquet.ignoreVariantAnnotation",
    "spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled",
    "spark.sql.parquet.variant.annotateLogicalType.enabled",
    "spark.sql.parser.singleCharacterPipeOperator.enabled",
    "spark.sql.variant.allowReadingShredded",
    "spark.sql.variant.forceShreddingSchemaForTest",
    "spark.sql.variant.writeShredding.enabled",
}
"""Settings that Spark 3.5 does not have."""


def outcome_of(spark, name, value, run, *arguments):
    """What there is in the end under a setting, or the error."""
    try:
        with flipped(spark, name, value):
            return run(spark, *arguments)
    except Exception as error:  # noqa: BLE001  (Spark has many)
        return error


def check(spark, folder, kind, name, value, usual):
    shown = f"{name}={value}"
    plain = outcome_of(spark, name, value, setting_scenario.plain_parquet, f"{folder}/plain")
    table = outcome_of(spark, name, value, setting_scenario.delta, f"{folder}/delta", kind)
    if isinstance(table, Exception):
        # Spark refuses its own files, too, or bayou says why it refuses; under the settings that once did harm, it works.
        is_refusal = isinstance(table, DeltaError) and name not in DANGEROUS
        assert isinstance(plain, Exception) or is_refusal, f"{shown}: {type(table).__name__}: {table}"
        return
    assert not isinstance(plain, Exception), f"{shown}: {plain}"
    assert (table.rows, table.first) == (plain.rows, plain.first), shown
    # What was written under the setting is what a session without it reads, too.
    there = setting_scenario.shown(spark.read.format("delta").load(table.stored))
    assert there == setting_scenario.shown(spark.read.parquet(plain.stored)), shown
    if there == usual[kind][0]:
        assert (table.changes, setting_scenario.statistics(table.stored)) == usual[kind][1:], shown


@pytest.fixture(scope="module")
def usual(spark, tmp_path_factory):
    """The rows, the changes and the statistics of each kind of table without a setting."""
    found = {}
    for kind in KINDS:
        folder = str(tmp_path_factory.mktemp("usual"))
        table = setting_scenario.delta(spark, f"{folder}/delta", kind)
        assert table.rows == setting_scenario.plain_parquet(spark, f"{folder}/plain").rows
        found[kind] = (table.rows, table.changes, setting_scenario.statistics(table.stored))
    return found


def test_the_feed_of_a_usual_session_has_each_change_once(usual):
    assert usual["field ids"][1] == setting_scenario.CHANGES


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("number", range(len(DANGEROUS) + _DRAWN))
def test_a_table_is_right_under_a_flipped_setting(spark, tmp_path, usual, number):
    settings = boolean_settings(spark)
    drawn = random.sample([*settings], _DRAWN)
    name = (*DANGEROUS, *drawn)[number]
    if name not in settings:
        pytest.skip(f"this Spark has no {name}")
    kind = [*KINDS][number % 2] if name not in DANGEROUS[:2] else "field ids"
    check(spark, str(tmp_path), kind, name, settings[name], usual)


@pytest.mark.soak
def test_a_table_is_right_under_every_flipped_setting(spark, tmp_path, usual):
    wrong = {}
    for number, (name, value) in enumerate(boolean_settings(spark).items()):
        for kind in KINDS:
            try:
                check(spark, f"{tmp_path}/{number}{kind[0]}", kind, name, value, usual)
            except AssertionError as error:
                wrong[f"{name} ({kind})"] = str(error)[:2000]
    assert not wrong


def test_the_settings_that_are_fixed_exist_under_these_names(spark):
    conf = spark._jsparkSession.sessionState().conf()
    unknown = set()
    for name in {pin.name for pins in PINS.values() for pin in pins}:
        try:
            conf.getConfString(name)
        except Exception:  # noqa: BLE001  (py4j has several for Scala's NoSuchElementException)
            unknown.add(name)
    assert unknown <= (NEWER if spark.version < "4.3" else set())
