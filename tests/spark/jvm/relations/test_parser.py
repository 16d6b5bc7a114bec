# SPDX-License-Identifier: Apache-2.0
"""SQL that Spark's parser refuses fails on an enabled session with the exception of Spark's parser, whatever its class."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.session import java_session

TEXTS = [
    "",
    "SELEC 1",
    "SELECT 1 +",
    "SELECT cast(a AS no_such_type)",
    "SELECT cast(1 AS timestamp_ntz(9))",
    "SELECT cast(1 AS timestamp_ltz(7))",
    "SELECT timestamp'nothing'",
    "SELECT ${spark.no.such.variable}",
    "BEGIN SELECT 1; DECLARE x INT; END",
    "BEGIN LEAVE nobody; END",
    "BEGIN ITERATE nobody; END",
    "a: BEGIN SELECT 1; END b",
    "BEGIN DECLARE c CONDITION FOR SQLSTATE '12345'; DECLARE c CONDITION FOR SQLSTATE '12345'; END",
    "BEGIN DECLARE c CONDITION FOR SQLSTATE 'x'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '00000' BEGIN SELECT 1; END; END",
    "CREATE TABLE t (a INT) USING parquet PARTITIONED BY (",
    "GRANT ALL ON t TO somebody",
    "LOCK TABLE t",
]
METHODS = [
    "parsePlan",
    "parseQuery",
    "parseExpression",
    "parseTableIdentifier",
    "parseFunctionIdentifier",
    "parseMultipartIdentifier",
    "parseDataType",
    "parseTableSchema",
]


def failure(parser, method, text):
    """The class and the message of what a parser throws; None if it throws nothing."""
    try:
        getattr(parser, method)(text)
    except Py4JJavaError as error:
        return error.java_exception.getClass().getName(), error.java_exception.getMessage()
    except PySparkException as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("method", METHODS)
def test_each_method_of_the_parser_throws_what_sparks_own_throws(spark, method):
    enabled = java_session(spark).sessionState().sqlParser()
    plain = Adapters.of(Jvm.of(spark)).static("bayou.Parser").behind(enabled)
    assert not enabled.equals(plain)
    found = {text: failure(enabled, method, text) for text in TEXTS}
    assert found == {text: failure(plain, method, text) for text in TEXTS}
    assert len(set(found.values())) > 1
    assert not any("Undeclared" in str(each) for each in found.values())


def test_the_parser_has_all_interfaces_of_the_one_behind_it(spark):
    enabled = java_session(spark).sessionState().sqlParser()
    plain = Adapters.of(Jvm.of(spark)).static("bayou.Parser").behind(enabled)
    each = plain.getClass()
    while each is not None:
        assert all(one.isInstance(enabled) for one in each.getInterfaces())
        each = each.getSuperclass()
