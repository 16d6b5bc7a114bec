# SPDX-License-Identifier: Apache-2.0
"""Wrong statements: Spark's ParseException on both sides, with a class, a line, a position and a caret."""

from __future__ import annotations

import pytest
from pyspark.errors import ParseException
from tests.support.java import new_object

from bayou.errors import SqlSyntaxError

PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
WRONG = {
    "VACUUM t\n  RETIAN 5 HOURS": ("PARSE_SYNTAX_ERROR", "42601", 2, 2),
    "VACUUM t LITE USING INVENTORY x": ("DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES", "KD009", 1, 31),
    "OPTIMIZE t WHERE": ("PARSE_SYNTAX_ERROR", "42601", 1, 16),
}


CATCHING = """
public class Catching {
  private final org.apache.spark.sql.catalyst.parser.ParserInterface parser;
  public Catching(org.apache.spark.sql.catalyst.parser.ParserInterface parser) { this.parser = parser; }
  public Object caught(String text) {
    try {
      parser.parsePlan(text);
      return null;
    } catch (Throwable error) {
      return error instanceof org.apache.spark.sql.catalyst.parser.ParseException ? error : null;
    }
  }
}
"""
"""What another program on the JVM does."""


@pytest.mark.smoke
def test_another_program_on_the_jvm_catches_sparks_exception(spark):
    catching = new_object(spark, "Catching", CATCHING, spark._jsparkSession.sessionState().sqlParser())
    for text, (error_class, state, line, position) in WRONG.items():
        thrown = catching.caught(text)
        assert thrown.getClass().getSuperclass().getName() == PARSE_EXCEPTION
        assert (thrown.getErrorClass(), thrown.getSqlState()) == (error_class, state)
        assert (thrown.line().get(), thrown.startPosition().get()) == (line, position)
        assert (thrown.start().line().get(), thrown.start().startPosition().get()) == (line, position)
        assert shown(text, line, position) in thrown.getMessage()
        assert thrown.command().get() == text
        assert thrown.withCommand("other").equals(thrown)
    assert catching.caught("SELEC 1").getClass().getName() == PARSE_EXCEPTION
    assert catching.caught("SELECT 1") is None


@pytest.mark.smoke
@pytest.mark.parametrize("text", WRONG)
def test_python_catches_both_kinds(spark, text):
    error_class, state, line, position = WRONG[text]
    with pytest.raises(ParseException) as caught:
        spark.sql(text)
    error = caught.value
    assert isinstance(error, SqlSyntaxError)
    assert (error.getErrorClass(), error.getSqlState(), error.line, error.position) == (error_class, state, line, position)
    assert shown(text, line, position) in str(error)


def test_secrets_are_not_in_the_exception(spark):
    catching = new_object(spark, "Catching", CATCHING, spark._jsparkSession.sessionState().sqlParser())
    thrown = catching.caught("CREATE TABLE a CLONE b TBLPROPERTIES ('k' = 'hushhush') LOCATON 'x'")
    assert "hushhush" not in thrown.getMessage() + thrown.command().get() + thrown.toString()


def shown(text, line, position):
    return f"{text.splitlines()[line - 1]}\n{'-' * position}^^^"
