# SPDX-License-Identifier: Apache-2.0
"""Parameters in statements that only Delta has: Spark gives their values to parsers from 4.1 on."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException

import bayou
from bayou.errors import UnsupportedFeatureError

VERSION = tuple(map(int, pyspark.__version__.split(".")[:2]))
has_values = pytest.mark.skipif(VERSION < (4, 1), reason="before Spark 4.1 parsers get no values of parameters")


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with two partitions and two commits after its creation."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    for start in (0, 10):
        spark.sql(f"INSERT INTO {name} SELECT id, IF(id % 2 = 0, 'even', 'o,d''d') FROM range({start}, {start + 10}, 1, 1)")
    return name


@has_values
@pytest.mark.smoke
def test_a_parameter_stands_for_a_literal_or_a_name(spark, delta, table_path):
    named = "OPTIMIZE IDENTIFIER(:t) WHERE p = :p"
    assert spark.sql(named, args={"t": delta, "p": "o,d'd"}).first().metrics.numFilesRemoved == 2
    assert spark.sql("DESCRIBE HISTORY IDENTIFIER(:t)", args={"t": delta}).count() == 4
    assert [row.version for row in spark.sql("DESCRIBE HISTORY IDENTIFIER(?) LIMIT ?", args=[delta, 2]).collect()] == [3, 2]
    assert spark.sql("VACUUM :path RETAIN :hours HOURS DRY RUN", args={"path": table_path, "hours": 240.5}).count() == 0
    assert spark.sql(f"RESTORE {delta} TO VERSION AS OF ?", args=[1]).first().num_removed_files == 2
    time = bayou.open(table_path).history()[0].timestamp
    moment = spark.sql(f"SELECT timestamp_millis({time}) + INTERVAL 1 HOUR").first()[0]
    assert spark.sql(f"RESTORE {delta} TO TIMESTAMP AS OF :m", args={"m": moment}).collect() == []


@has_values
def test_a_parameter_in_execute_immediate(spark, delta):
    found = spark.sql(f"EXECUTE IMMEDIATE 'DESCRIBE HISTORY {delta} LIMIT :n' USING 2 AS n")
    assert found.count() == 2
    assert spark.sql(f"EXECUTE IMMEDIATE 'DESCRIBE HISTORY {delta} LIMIT ?' USING 1").count() == 1


@has_values
@pytest.mark.parametrize(
    ("text", "args", "shown", "position"),
    [
        ("VACUUM {t} RETAIN :n HOURS", {}, "n", 7),
        ("VACUUM {t} RETAIN :n HOURS DRY RUN", {"m": 1}, "n", 7),
        ("DESCRIBE HISTORY {t} LIMIT ?", [], "[?]", 6),
    ],
)
def test_a_parameter_without_a_value_is_an_error_at_its_place(spark, delta, text, args, shown, position):
    with pytest.raises(AnalysisException, match=f"UNBOUND_SQL_PARAMETER.*unbound parameter: {shown}") as caught:
        spark.sql(text.format(t=delta), args=args)
    assert caught.value.position == text.index("{t}") + len(delta) + 1 + position


@has_values
def test_an_error_shows_the_statement_as_it_was_written(spark, delta):
    with pytest.raises(ParseException) as caught:
        spark.sql(f"VACUUM {delta} RETAIN :hours HOURS DRY RUNN", args={"hours": 123456789})
    text = f"VACUUM {delta} RETAIN :hours HOURS DRY RUNN"
    assert f"\n{text}\n{'-' * text.index('DRY')}^^^" in str(caught.value)
    with pytest.raises(ParseException, match="at or near a string"):
        spark.sql(f"VACUUM {delta} RETAIN :hours HOURS", args={"hours": "168"})


@pytest.mark.smoke
@pytest.mark.skipif(VERSION >= (4, 1), reason="from Spark 4.1 on parsers get the values of parameters")
def test_an_older_spark_has_no_parameters_in_these_statements(spark, delta, table_path):
    for text, args in ((f"OPTIMIZE {delta} WHERE p = :p", {"p": "even"}), (f"VACUUM {delta} RETAIN ? HOURS", [5])):
        with pytest.raises(UnsupportedFeatureError, match=r"does not pass the values of parameters.*Spark 4\.1"):
            spark.sql(text, args=args)
    assert bayou.open(table_path).snapshot().version == 2


@pytest.mark.smoke
def test_what_pyspark_puts_into_a_text_works_everywhere(spark, delta, table_path):
    assert spark.sql("VACUUM {path} RETAIN {hours} HOURS DRY RUN", path=table_path, hours=240).count() == 0
    assert spark.sql(f"OPTIMIZE {delta} WHERE p = {{value}}", value="even").first().metrics.numFilesRemoved == 2
