# SPDX-License-Identifier: Apache-2.0
"""bayou on a session that delta-spark is on: `beside_delta_spark.py FOLDER JARS`."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

from tests.interop import oracle
from tests.support.processes import answer
from tests.support.tables.built import ids

import bayou

FOLDER = Path(sys.argv[1])


def path(name):
    return str(FOLDER / name)


def start():
    return oracle.session(sys.argv[2])


def source_of(spark, name):
    """The class that Spark takes for a data source."""
    lookup = spark.sparkContext._jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
    return lookup(name, spark._jsparkSession.sessionState().conf()).getName()


def index_of(frame):
    """The class of the file index that a DataFrame's scan lists its files by."""
    plan = frame._jdf.queryExecution().sparkPlan()
    while plan.getClass().getSimpleName() != "FileSourceScanExec":
        plan = plan.children().head()
    return plan.relation().location().getClass().getName()


def enabling(spark):
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logging.getLogger("bayou").addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same = [bayou.enable(spark) is spark for _ in range(2)]
    logging.getLogger("bayou").removeHandler(handler)
    return {
        "same": same,
        "log": [f"{record.levelname}: {record.getMessage()}" for record in records],
        "warnings": [str(warning.message) for warning in caught],
        "source": source_of(spark, "delta"),
    }


def both_read_what_bayou_wrote(spark):
    rows = spark.range(100).selectExpr("id", "nullif(concat('a/b=', id % 3), 'a/b=1') as p", "cast(id as decimal(10, 2)) as m")
    bayou.write(rows.where("id < 50"), path("ours"), partition_by=["p"])
    bayou.write(rows.where("id >= 50"), path("ours"), mode="append")
    ours, theirs = bayou.read(spark, path("ours")), spark.read.format("delta").load(path("ours"))
    return {
        "indexes": [index_of(ours), index_of(theirs)],
        "rows": [sorted(map(str, frame.collect())) == sorted(map(str, rows.collect())) for frame in (ours, theirs)],
        "counts": [ours.count(), theirs.count()],
        "filtered": [ids(frame.where("p is null and m > 90")) for frame in (ours, theirs)],
        "joined": ours.join(theirs, "id").count(),
        "sql": spark.sql(f"select count(*) from delta.`{path('ours')}`").first()[0],
        "detail": bayou.DeltaTable.forPath(spark, path("ours")).detail().first().numFiles,
    }


def both_read_what_delta_spark_wrote(spark):
    table = f"delta.`{path('theirs')}`"
    spark.range(100).coalesce(1).write.format("delta").option("delta.enableDeletionVectors", "true").save(path("theirs"))
    spark.sql(f"delete from {table} where id % 10 = 3")
    spark.sql(f"update {table} set id = 1000 where id = 0")
    spark.sql(f"merge into {table} t using (select 2000L id) s on t.id = s.id when not matched then insert *")
    ours, theirs = bayou.read(spark, path("theirs")), spark.read.format("delta").load(path("theirs"))
    return {
        "rows": ids(ours) == ids(theirs),
        "count": [ours.count(), theirs.count()],
        "history": [row.operation for row in bayou.DeltaTable.forPath(spark, path("theirs")).history().collect()],
    }


def both_write_one_table(spark):
    for number in range(3):
        bayou.write(spark.range(number * 10, number * 10 + 1), path("both"), mode="append")
        spark.range(number * 10 + 1, number * 10 + 2).write.format("delta").mode("append").save(path("both"))
    return {
        "rows": [ids(bayou.read(spark, path("both"))), ids(spark.read.format("delta").load(path("both")))],
        "version": [
            bayou.open(path("both")).version(),
            spark.sql(f"describe history delta.`{path('both')}`").first().version,
        ],
    }


def statements_of_delta_spark(spark):
    """Statements on a catalog table of delta-spark's, one by one; what each one came to."""
    found = {}
    for statement in (
        "create table t (id bigint, v string) using delta",
        "insert into t values (1, 'a'), (2, 'b')",
        "alter table t add columns (w int)",
        "alter table t set tblproperties ('delta.logRetentionDuration' = 'interval 60 days')",
        "alter table t change column v comment 'c'",
        "insert overwrite t values (3, 'c', 1)",
        "delete from t where id = 9",
        "optimize t",
        "truncate table t",
        "insert into t values (4, 'd', 2)",
        "create or replace view view_of_t as select id + 1 as id from t",
        "cache table t",
        "uncache table t",
        "alter table t rename to u",
        "alter table u rename to t",
    ):
        try:
            spark.sql(statement).collect()
            found[statement] = "done"
        except Exception as error:  # noqa: BLE001  (told to the test)
            found[statement] = f"{type(error).__name__}: {str(error)[:300]}"
    found["rows"] = [list(row) for row in spark.table("t").orderBy("id").collect()]
    location = spark.sql("describe detail t").first().location
    found["by bayou"] = [list(row) for row in bayou.read(spark, location).orderBy("id").collect()]
    spark.sql("drop view view_of_t")
    spark.sql("drop table t")
    return found


def parsed_statements(spark):
    """Whose nodes the statements that only Delta has are parsed to, and who refuses a wrong one."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    found = {"parser": parser.getClass().getName()}
    for statement in ("vacuum t", "optimize t", "restore t to version as of 1", "describe history t", "describe detail t"):
        found[statement] = parser.parsePlan(statement).getClass().getName()
    try:
        spark.sql("vacuum t retian 5 hours")
    except Exception as error:  # noqa: BLE001  (told to the test)
        found["error"] = type(error).__module__
    return found


def changing_a_table_that_bayou_reads(spark):
    """`bayou.read` as a view that DELETE names: neither of the two may change it past the log."""
    bayou.write(spark.range(3), path("viewed"))
    bayou.read(spark, path("viewed")).createOrReplaceTempView("viewed")
    try:
        spark.sql("delete from viewed where id = 1").collect()
        said = "done"
    except Exception as error:  # noqa: BLE001  (told to the test)
        said = f"{type(error).__name__}: {str(error)[:300]}"
    return {"said": said, "rows": ids(bayou.read(spark, path("viewed"))), "version": bayou.open(path("viewed")).version()}


if __name__ == "__main__":
    answer(
        start,
        [
            enabling,
            both_read_what_bayou_wrote,
            both_read_what_delta_spark_wrote,
            both_write_one_table,
            statements_of_delta_spark,
            parsed_statements,
            changing_a_table_that_bayou_reads,
        ],
    )
