# SPDX-License-Identifier: Apache-2.0
"""SQL of bayou is parsed with Spark's defaults, whatever the settings of the session are."""

from __future__ import annotations

import pytest

from bayou.spark.jvm.relations.own_sql import own_column


@pytest.fixture
def warnings(spark):
    """What Spark's settings log, at WARN."""
    log4j = spark._jvm.org.apache.logging.log4j
    logger = log4j.LogManager.getLogger("org.apache.spark.sql.internal.SQLConf")
    text = spark._jvm.java.io.StringWriter()
    appender = log4j.core.appender.WriterAppender.createAppender(None, None, text, "captured", False, True)
    before = logger.getLevel()
    appender.start()
    logger.addAppender(appender)
    logger.setLevel(log4j.Level.WARN)
    yield text.toString
    logger.removeAppender(appender)
    logger.setLevel(before)


def test_settings_that_the_session_does_not_have_log_no_warning(spark, warnings):
    assert spark.range(1).select(own_column(spark, "'a\\tb'").alias("v")).first().v == "a\tb"
    assert not warnings()


def test_settings_of_the_session_do_not_change_the_meaning(spark, warnings):
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        assert "escapedStringLiterals" in warnings()  # Spark's own
        assert spark.range(1).select(own_column(spark, "'a\\tb'").alias("v")).first().v == "a\tb"
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
