# SPDX-License-Identifier: Apache-2.0
"""Tables that statements name by constant expressions change as those that they name by words, with their row of counts."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

COUNTS = {
    "UPDATE {t} SET v = 'x' WHERE id > 1": {"num_affected_rows": 2},
    "UPDATE {t} AS a SET a.v = 'x' WHERE a.id > 1": {"num_affected_rows": 2},
    "DELETE FROM {t} WHERE id > 1": {"num_affected_rows": 2},
    "MERGE INTO {t} a USING (SELECT 3 AS k) b ON a.id = b.k WHEN MATCHED THEN DELETE": {
        "num_affected_rows": 1,
        "num_updated_rows": 0,
        "num_deleted_rows": 1,
        "num_inserted_rows": 0,
    },
}
NAMES = [
    "IDENTIFIER('{h}' || '{t}')",
    "IDENTIFIER(concat('{h}', '{t}'))",
    "IDENTIFIER('default.' || '{h}' || '{t}')",
    "IDENTIFIER('spark_catalog.default.{h}' || '{t}')",
    "IDENTIFIER(replace('{h}#{t}', '#', ''))",
    "IDENTIFIER('delta.' || '`{p}`')",
    "IDENTIFIER(which_table)",
    "IDENTIFIER(substring(which_table, 1))",
]


@pytest.fixture
def three(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} (id INT, v STRING) USING delta LOCATION '{table_path}'")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return name


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(("text", "counts"), COUNTS.items(), ids=["update", "alias", "delete", "merge"])
@pytest.mark.parametrize("computed", NAMES)
def test_a_computed_name_gives_the_row_of_counts(spark, three, table_path, text, counts, computed):
    if "which_table" in computed:
        if spark.version < "4":
            pytest.skip("Spark has variables from 4.0 on")
        spark.sql(f"DECLARE OR REPLACE VARIABLE which_table = '{three}'")
    found = spark.sql(text.format(t=computed.format(h=three[:3], t=three[3:], p=table_path)))
    assert found.first().asDict() == counts


@pytest.mark.parametrize("computed", ["1", "NULL", "'a b c'", "'{t}' || rand()", "nobody", "(SELECT '{t}')"])
def test_what_is_no_constant_name_is_sparks_error(spark, three, computed):
    with pytest.raises((AnalysisException, Py4JJavaError)):  # Spark 3.5 has no class for some
        spark.sql(f"UPDATE IDENTIFIER({computed.format(t=three)}) SET id = 1")


def test_a_script_computes_names_when_it_runs(spark, three):
    if spark.version < "4.1":
        pytest.skip("Spark runs scripts without a setting from 4.1 on")
    spark.sql(
        f"BEGIN DECLARE w STRING DEFAULT ''; SET w = '{three}'; UPDATE IDENTIFIER(w || '') SET v = 'x' WHERE id = 1; "
        "DELETE FROM IDENTIFIER(w) WHERE id = 2; "
        "MERGE INTO IDENTIFIER(w) a USING (SELECT 3 AS k) b ON a.id = b.k WHEN MATCHED THEN UPDATE SET v = 'y'; END"
    )
    assert sorted(tuple(row) for row in spark.table(three).collect()) == [(1, "x"), (3, "y")]
