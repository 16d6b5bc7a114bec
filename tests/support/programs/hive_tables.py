# SPDX-License-Identifier: Apache-2.0
"""Tables with names in a Hive metastore, by one engine: `hive_tables.py FOLDER STEP NAME JARS`.

The metastore is Derby's, in FOLDER, as is the warehouse. STEP is `make`, to make tables whose names begin with NAME, or `use`,
to read and change those. The engine is delta-spark where JARS is a folder, else bayou.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.interop import oracle
from tests.support.processes import answer

FOLDER, STEP, NAME, JARS = sys.argv[1:5]
KINDS = ("managed", "external", "saved", "partitioned")


def start():
    settings = {
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={FOLDER}/metastore;create=true",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{FOLDER}/warehouse",
    }
    if JARS:
        return oracle.session(JARS, settings)
    import bayou  # delta-spark's Python need not have it
    from bayou.testing.session import local_session

    return bayou.enable(local_session(settings))


def table(kind):
    return f"{NAME}_db.{kind}"


def rows(spark, kind):
    return sorted(map(list, spark.table(table(kind)).collect()), key=str)


def make(spark):
    spark.sql(f"CREATE DATABASE {NAME}_db")
    spark.sql(f"CREATE TABLE {table('managed')} (id BIGINT, Name STRING COMMENT 'whose') USING delta COMMENT 'of all'")
    spark.sql(f"INSERT INTO {table('managed')} VALUES (1, 'a')")
    spark.sql(f"CREATE TABLE {table('external')} USING delta LOCATION '{FOLDER}/{NAME}_elsewhere' AS SELECT 1L AS id, 'a' AS Name")
    spark.sql("SELECT 1L AS id, 'a' AS Name").write.format("delta").saveAsTable(table("saved"))
    spark.sql(f"CREATE TABLE {table('partitioned')} (id BIGINT, Name STRING) USING delta PARTITIONED BY (Name)")
    spark.sql(f"INSERT INTO {table('partitioned')} VALUES (1, 'a')")
    return {kind: rows(spark, kind) for kind in KINDS}


def entries(spark):
    """What the metastore itself has of each table, without what Spark would make of it."""
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    found = {}
    for kind in KINDS:
        entry = catalog.getTable(f"{NAME}_db", kind)
        location = entry.location().toString()
        found[kind] = {
            "provider": entry.provider().get(),
            "type": entry.tableType().name(),
            "columns": entry.schema().size(),
            "partitions": entry.partitionColumnNames().size(),
            "location": location[location.index(FOLDER) + len(FOLDER) :].replace(NAME, ""),
        }
    return found


def seen(spark):
    """What a user sees of each table."""
    columns = {
        kind: [[each.name, each.dataType, each.isPartition] for each in spark.catalog.listColumns(table(kind))] for kind in KINDS
    }
    return {"tables": sorted(each.name for each in spark.catalog.listTables(f"{NAME}_db")), "columns": columns}


def use(spark):
    for kind in KINDS:
        spark.sql(f"INSERT INTO {table(kind)} VALUES (2, 'b')")
        spark.sql(f"UPDATE {table(kind)} SET id = id + 10 WHERE Name = 'a'")
        spark.sql(f"ALTER TABLE {table(kind)} ADD COLUMNS (more INT)")
        spark.sql("SELECT 3L AS id, 'c' AS Name, 5 AS more").write.format("delta").mode("append").saveAsTable(table(kind))
        spark.sql(f"DELETE FROM {table(kind)} WHERE id = 2")
    return {kind: rows(spark, kind) for kind in KINDS}


def dropped(spark):
    """Which tables' files are there after DROP TABLE."""
    for kind in KINDS:
        spark.sql(f"DROP TABLE {table(kind)}")
    spark.sql(f"DROP DATABASE {NAME}_db")
    return Path(FOLDER, f"{NAME}_elsewhere", "_delta_log").exists(), Path(FOLDER, "warehouse", f"{NAME}_db.db").exists()


if __name__ == "__main__":
    answer(start, [make, entries, seen] if STEP == "make" else [use, entries, seen, dropped])
