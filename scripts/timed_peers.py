# SPDX-License-Identifier: Apache-2.0
"""timed_peers.py ENGINE FOLDER ROWS: times reads, writes, changes and maintenance on one engine; prints a JSON line for each case.

The engine is `bayou`, `delta-spark` or `delta-rs`. The tables have 16 columns in 16 files, ordered by the key. The first Spark
engine writes them as Parquet files with a Delta log; all engines change copies of them. The first run of a case is not counted.
"""

# ruff: noqa: D102  (each method is the case of its name)
from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = 16
RUNS = 3
SMALL_FILES = 500
LITTER = 2_000
MANY_FILES = 100_000
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
WORDS = "split('furiously slyly carefully final ironic express pending regular bold deposits packages accounts', ' ')"
COLUMNS = (
    "id div 4 AS orderkey",
    "CAST(pmod(hash(id, 1), 200000) AS BIGINT) AS partkey",
    "CAST(pmod(hash(id, 2), 10000) AS BIGINT) AS suppkey",
    "CAST(id % 4 AS INT) AS linenumber",
    "CAST(pmod(hash(id, 3), 5000) / 100 AS DECIMAL(12, 2)) AS quantity",
    "pmod(hash(id, 4), 10000000) / 100D AS price",
    "pmod(hash(id, 5), 11) / 100D AS discount",
    "pmod(hash(id, 6), 9) / 100D AS tax",
    "element_at(array('R', 'A', 'N'), pmod(hash(id, 7), 3) + 1) AS returnflag",
    "element_at(array('O', 'F'), pmod(hash(id, 8), 2) + 1) AS linestatus",
    "date_add(DATE'1992-01-01', pmod(hash(id, 9), 2526)) AS shipdate",
    "date_add(DATE'1992-01-31', pmod(hash(id, 9), 2526)) AS commitdate",
    "timestamp_seconds(694224000 + pmod(hash(id, 9), 2526) * 86400) AS receiptdate",
    "element_at(array('DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'), pmod(hash(id, 10), 4) + 1) AS shipinstruct",
    "element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'), pmod(hash(id, 11), 6) + 1) AS shipmode",
    f"concat_ws(' ', transform(sequence(12, 15), n -> element_at({WORDS}, pmod(hash(id, n), 12) + 1))) AS comment",
)
KEYS = "t.orderkey = s.orderkey AND t.linenumber = s.linenumber"
TITLES = {
    "read all": "Read all columns of all rows",
    "read part": "One filter, two aggregates",
    "read many": "Plan a query for one row of 100,000 files, first read",
    "read write": "Write all rows into a new table",
    "read append": "Append one row",
    "read history": "History of 60 commits",
    "change delete": "DELETE of 1% of the rows, in every file",
    "change delete vectors": "the same, with deletion vectors",
    "change update": "UPDATE of 1% of the rows, in every file",
    "change update vectors": "the same, with deletion vectors",
    "change merge": "MERGE of 1% of the rows, with random keys",
    "change merge vectors": "the same, with deletion vectors",
    "maintain compact": f"OPTIMIZE of {SMALL_FILES} small files",
    "maintain order": "OPTIMIZE with ZORDER BY two columns, all rows",
    "maintain vacuum": f"VACUUM of {LITTER:,} files in 50 folders",
    "maintain stream": "Stream from table to table, 4 batches",
}
WARMS: dict[str, int] = {"read many": 0, "maintain order": 0, "maintain vacuum": 0, "maintain stream": 1}
"""How many runs of a case are not counted, if not one. A first read happens once in each process."""


class OnSpark:
    """delta-spark and bayou: the same calls, another session."""

    def __init__(self, name: str, root: Path) -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415  (not installed for delta-rs)

        builder = SparkSession.builder.master("local[2]")
        for setting, value in SETTINGS.items():
            builder = builder.config(setting, value)
        if name == "bayou":
            import bayou  # noqa: PLC0415  (one engine is installed in each environment)

            self.spark, self.tables = bayou.enable(builder), bayou.DeltaTable
        else:
            from delta.tables import DeltaTable  # noqa: PLC0415  (as above)

            builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
            builder = builder.config("spark.jars", ",".join(map(str, Path(os.environ["BAYOU_ORACLE_JARS"]).glob("*.jar"))))
            self.spark, self.tables = builder.getOrCreate(), DeltaTable
        self.spark.sparkContext.setLogLevel("ERROR")
        self.root = root

    def frame(self, path: Path) -> Any:
        return self.spark.read.format("delta").load(str(path))

    def table(self, path: Path) -> Any:
        return self.tables.forPath(self.spark, str(path))

    def lay(self, rows: int) -> None:
        """Write the source of the MERGE and the tables, if they are not there."""
        if (self.root / "source").exists():
            return
        all_rows = self.spark.range(0, rows, 1, FILES).selectExpr(*COLUMNS)
        for name, vectors in {"plain": "false", "vectors": "true"}.items():
            all_rows.write.format("delta").option("delta.enableDeletionVectors", vectors).save(f"{self.root}/{name}")
        small = self.spark.range(0, SMALL_FILES * 100, 1, SMALL_FILES).selectExpr(*COLUMNS)
        small.write.format("delta").save(f"{self.root}/small")
        ids = self.spark.range(rows // 100).selectExpr(f"IF(id % 10 = 0, {rows} + id, id * 100 + pmod(hash(id), 100)) AS id")
        ids.selectExpr(*COLUMNS).coalesce(1).write.parquet(f"{self.root}/source")

    def ready(self, path: Path) -> None:
        """Read the log, as a session that works with the table has done."""
        self.frame(path).inputFiles()

    def read_all(self, path: Path) -> None:
        self.frame(path).write.format("noop").mode("overwrite").save()

    def read_part(self, path: Path) -> None:
        self.frame(path).where("shipdate < DATE'1993-01-01'").selectExpr("sum(price)", "avg(discount)").collect()

    def read_many(self, path: Path) -> None:
        self.frame(path).where("id = 4711").inputFiles()

    def write(self, path: Path) -> None:
        self.spark.read.parquet(f"{self.root}/plain/*.parquet").write.format("delta").save(f"{path}/new")

    def append(self, path: Path) -> None:
        self.spark.range(1).selectExpr(*COLUMNS).coalesce(1).write.format("delta").mode("append").save(str(path))

    def history(self, path: Path) -> None:
        self.table(path).history().collect()

    def delete(self, path: Path) -> None:
        self.table(path).delete("partkey % 100 = 7")

    def update(self, path: Path) -> None:
        self.table(path).update("partkey % 100 = 7", {"discount": "discount + 1"})

    def merge(self, path: Path) -> None:
        source = self.spark.read.parquet(f"{self.root}/source")
        merge = self.table(path).alias("t").merge(source.alias("s"), KEYS)
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def compact(self, path: Path) -> None:
        self.table(path).optimize().executeCompaction()

    def order(self, path: Path) -> None:
        self.table(path).optimize().executeZOrderBy("partkey", "shipdate")

    def vacuum(self, path: Path) -> None:
        self.table(path).vacuum(0)

    def stream(self, path: Path) -> None:
        stream = self.spark.readStream.format("delta").option("maxFilesPerTrigger", FILES // 4).load(str(path))
        writer = stream.writeStream.format("delta").option("checkpointLocation", f"{path}/new-checkpoint")
        writer.trigger(availableNow=True).start(f"{path}/new").awaitTermination()


class DeltaRs:
    """delta-rs, without Spark. It streams nothing."""

    stream = None

    def __init__(self, _: str, root: Path) -> None:
        self.root = root

    def table(self, path: Path) -> Any:
        from deltalake import DeltaTable  # noqa: PLC0415  (installed in its environment only)

        return DeltaTable(str(path))

    def lay(self, _: int) -> None:
        """Check that a Spark engine wrote the tables."""
        if not (self.root / "source").exists():
            message = "run delta-spark or bayou before delta-rs: they write the tables"
            raise SystemExit(message)

    def ready(self, path: Path) -> None:
        self.table(path)

    def read_all(self, path: Path) -> None:
        for _ in self.table(path).to_pyarrow_dataset().to_batches():
            pass

    def read_part(self, path: Path) -> None:
        from deltalake import QueryBuilder  # noqa: PLC0415  (as above)

        query = "SELECT sum(price), avg(discount) FROM t WHERE shipdate < DATE '1993-01-01'"
        list(QueryBuilder().register("t", self.table(path)).execute(query))

    read_many = None
    """delta-rs has no call that plans a query without running it."""

    def write(self, path: Path) -> None:
        import pyarrow.dataset as ds  # noqa: PLC0415  (as above)
        from deltalake import write_deltalake  # noqa: PLC0415  (as above)

        files = sorted(str(each) for each in (self.root / "plain").glob("*.parquet"))
        write_deltalake(f"{path}/new", ds.dataset(files).scanner().to_reader())

    def append(self, path: Path) -> None:
        import pyarrow.dataset as ds  # noqa: PLC0415  (as above)
        from deltalake import write_deltalake  # noqa: PLC0415  (as above)

        write_deltalake(str(path), ds.dataset(str(self.root / "source")).head(1), mode="append")

    def history(self, path: Path) -> None:
        self.table(path).history()

    def delete(self, path: Path) -> None:
        self.table(path).delete("partkey % 100 = 7")

    def update(self, path: Path) -> None:
        self.table(path).update({"discount": "discount + 1"}, predicate="partkey % 100 = 7")

    def merge(self, path: Path) -> None:
        import pyarrow.dataset as ds  # noqa: PLC0415  (as above)

        source = ds.dataset(str(self.root / "source")).to_table()
        merge = self.table(path).merge(source, KEYS, source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def compact(self, path: Path) -> None:
        self.table(path).optimize.compact()

    def order(self, path: Path) -> None:
        self.table(path).optimize.z_order(["partkey", "shipdate"])

    def vacuum(self, path: Path) -> None:
        self.table(path).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)


def cases(engine: Any) -> dict[str, tuple[str, Callable[[Path], None] | None]]:
    """The table that each case works on, and the call."""
    return {
        "read all": ("plain", engine.read_all),
        "read part": ("plain", engine.read_part),
        "read many": ("many", engine.read_many),
        "read write": ("empty", engine.write),
        "read append": ("plain", engine.append),
        "read history": ("commits", engine.history),
        "change delete": ("plain", engine.delete),
        "change delete vectors": ("vectors", engine.delete),
        "change update": ("plain", engine.update),
        "change update vectors": ("vectors", engine.update),
        "change merge": ("plain", engine.merge),
        "change merge vectors": ("vectors", engine.merge),
        "maintain compact": ("small", engine.compact),
        "maintain order": ("plain", engine.order),
        "maintain vacuum": ("litter", engine.vacuum),
        "maintain stream": ("plain", engine.stream),
    }


def main() -> int:
    name, root, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    engine = DeltaRs(name, root) if name == "delta-rs" else OnSpark(name, root)
    engine.lay(rows)
    for case, (table, call) in cases(engine).items():
        if call is None:
            continue
        warm = WARMS.get(case, 1)
        seconds = []
        for _ in range(1 if case == "read many" else RUNS if warm else 2):
            with laid(root, table) as path:
                if case != "read many" and table != "empty":
                    engine.ready(path)
                started = time.perf_counter()
                call(path)
                seconds.append(time.perf_counter() - started)
        print(json.dumps({"case": case, "title": TITLES[case], "seconds": min(seconds[warm:])}), flush=True)
    return 0


@contextlib.contextmanager
def laid(root: Path, table: str) -> Iterator[Path]:
    """A fresh copy of a table for one run."""
    path = root / "copy"
    shutil.rmtree(path, ignore_errors=True)
    if (root / table).exists():
        shutil.copytree(root / table, path, copy_function=os.link)
    else:
        path.mkdir()
    if table == "many":
        _log(path, 0, MANY_FILES)
    elif table == "commits":
        for version in range(60):
            _log(path, version, 1)
    elif table == "litter":
        _log(path, 0, 0)
        for number in range(LITTER):
            folder = path / f"d{number % 50}"
            folder.mkdir(exist_ok=True)
            file = folder / f"{number}.parquet"
            file.touch()
            os.utime(file, (1, 1))
    yield path


def _log(path: Path, version: int, files: int) -> None:
    """Write a commit that adds files of one column, of which statistics are known."""
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    heads = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "bench",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": [column]}),
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
    ]
    adds = [
        {
            "add": {
                "path": f"part-{version}-{number}.parquet",
                "partitionValues": {},
                "size": 1000,
                "modificationTime": 0,
                "dataChange": True,
                "stats": json.dumps(
                    {"numRecords": 1, "minValues": {"id": number}, "maxValues": {"id": number}, "nullCount": {"id": 0}}
                ),
            }
        }
        for number in range(files)
    ]
    info = {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE", "operationParameters": {}}}
    log = path / "_delta_log"
    log.mkdir(exist_ok=True)
    actions = [info, *(heads if version == 0 else []), *adds]
    (log / f"{version:020}.json").write_text("".join(json.dumps(each) + "\n" for each in actions))


if __name__ == "__main__":
    sys.exit(main())
