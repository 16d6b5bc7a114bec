# SPDX-License-Identifier: Apache-2.0
"""The mistakes that newcomers make, in the order of a first day, each with what they see. Most need a session of Spark.

`MISTAKES` numbers them. `tests/errors/rendered/mistakes.txt` has their texts; `python -m tests.errors --spark` stores them. What is
no mistake any more, because the call works now, is there with what it answers.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.tables.built import file_of

import bayou
from bayou.cli import main
from bayou.protocol.actions import file_names
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "rendered/mistakes.txt"
COMMAND = "python -m tests.errors --spark"
ROOT = Path(__file__).parents[2]
TROUBLESHOOTING = "docs/troubleshooting.md"
TIMESTAMP = re.compile(r"20[2-9]\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC")
FEED = {"delta.enableChangeDataFeed": "true"}


@dataclass(frozen=True)
class Place:
    """Where a mistake is made: a session, and a folder of its own."""

    spark: SparkSession
    folder: Path

    @property
    def path(self) -> str:
        return str(self.folder / "t")

    def frame(self, query: str = "select 3L id, 'c' name") -> Any:
        return self.spark.sql(query)

    def table(self, **options: Any) -> Any:
        """A table of two rows, made without Spark; its feed has no changes of data."""
        rows = {"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]}
        made = TableBuilder(self.path).create({"id": "long", "name": "string"}, **options)
        made.commit(file_of(self.path, "f.parquet", rows))
        return bayou.DeltaTable.forPath(self.spark, self.path)

    def partitioned(self) -> Any:
        self.spark.sql("select 1L id, 'a' name").write.format("delta").partitionBy("name").save(self.path)
        return bayou.DeltaTable.forPath(self.spark, self.path)

    def sql(self, statement: str) -> Any:
        return self.spark.sql(statement.format(t=f"delta.`{self.path}`"))

    def append(self, query: str, **options: Any) -> None:
        self.frame(query).write.format("delta").mode("append").options(**options).save(self.path)


Example = Callable[[Place], object]


@dataclass(frozen=True)
class Documented:
    """A mistake that makes no error, or one before bayou is installed: which file has the answer, and by which words."""

    file: str
    words: str

    def __call__(self, _: Place) -> str:
        assert self.words in (ROOT / self.file).read_text(encoding="utf-8"), f"{self.file} does not have: {self.words}"
        return f"{self.file} has the answer: {self.words}"


def works(call: Callable[[Place], Any]) -> Example:
    """What was a mistake before and works now: the names of the columns that it answers."""

    def example(place: Place) -> str:
        found = call(place)
        rows = found.collect() if found is not None else []
        columns = list(rows[0].asDict()) if rows else []
        return f"This works. Columns of the answer: {', '.join(columns) or 'none'}."

    return example


def with_table(call: Callable[[Any, Place], Any], **options: Any) -> Example:
    return lambda place: call(place.table(**options), place)


def on_table(statement: str) -> Example:
    """A statement of SQL that names the table as {t}."""

    def example(place: Place) -> Any:
        place.table()
        return place.sql(statement).collect()

    return example


def command(*arguments: str) -> Example:
    """What the command line says."""

    def example(place: Place) -> str:
        place.partitioned()
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            code = main([each.replace("<folder>", str(place.folder)) for each in arguments])
        return f"{said.getvalue()}exit code {code}"

    return example


WITHOUT_PYSPARK = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


HELP = """
import pydoc, bayou
text = pydoc.plain(pydoc.render_doc(bayou))
assert "pip install 'bayou[spark]'" in text
print("This works. The help names:", ", ".join(name for name in bayou.__all__ if f"    {name}(" in text or f"class {name}" in text))
"""


def without_pyspark(code: str) -> Example:
    """The last line that a program prints in a Python without PySpark."""

    def example(_: Place) -> str:
        run = subprocess.run([sys.executable, "-c", WITHOUT_PYSPARK + code], capture_output=True, text=True, check=False)
        return (run.stdout + run.stderr).strip().splitlines()[-1]

    return example


class ConnectSession:
    """What bayou recognises a session of Spark Connect by: the module of its class."""

    __module__ = "pyspark.sql.connect.session"


def _parquet_folder(place: Place) -> Any:
    Path(place.path).mkdir()
    pq.write_table(pa.table({"id": [1]}), f"{place.path}/f.parquet")
    return place.spark.read.format("delta").load(place.path)


def _broken_commit(place: Place) -> Any:
    place.table()
    Path(place.path, file_names.commit_path(2)).write_text("nonsense", encoding="utf-8")
    return place.spark.read.format("delta").load(place.path).count()


def _lost_file(place: Place) -> Any:
    place.table()
    Path(place.path, "f.parquet").unlink()
    return place.spark.read.format("delta").load(place.path).collect()


def _merge(place: Place, source: str = "select 1L id, 'x' name", condition: str = "t.id = s.id") -> Any:
    return place.table().alias("t").merge(place.frame(source).alias("s"), condition)


def _unaliased_merge(place: Place) -> Any:
    return place.table().merge(place.frame(), "id = id").whenMatchedDelete().execute()


def _forgotten_execute(place: Place) -> str:
    return repr(_merge(place).whenMatchedUpdateAll())


@cache
def _own_session() -> Mapping[str, str]:
    """What a session of its own says, without JARs, before bayou is enabled, and stopped: that of all tests is not such a one."""
    program = Path(__file__).with_name("own_session.py")
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, str] = json.loads(run.stdout.splitlines()[-1])
    return found


def own_session(name: str) -> Example:
    return lambda _: _own_session()[name]


def _second_session(place: Place) -> Any:
    place.table()
    return place.spark.newSession().read.format("delta").load(place.path)


def _builder(place: Place) -> str:
    session = bayou.enable(type(place.spark).builder)  # type: ignore[arg-type]
    assert session is place.spark
    return "This works: the session that the builder gets is enabled."


def _pandas(place: Place) -> Any:
    return bayou.write(type("DataFrame", (), {"__module__": "pandas.core.frame"})(), place.path)  # type: ignore[arg-type]


MISTAKES: dict[int, tuple[str, Example]] = {
    1: ("a path that does not exist", lambda at: at.spark.read.format("delta").load(at.path)),
    2: ("forPath where nothing is", lambda at: bayou.DeltaTable.forPath(at.spark, at.path)),
    3: ("forName of an unknown name", lambda at: bayou.DeltaTable.forName(at.spark, "no_such_table")),
    4: ("forName of a path", lambda at: at.table() and bayou.DeltaTable.forName(at.spark, at.path)),
    5: ("a Parquet folder read as Delta", _parquet_folder),
    6: ("a path inside _delta_log", with_table(lambda _, at: at.spark.read.format("delta").load(f"{at.path}/_delta_log"))),
    7: ("a partition folder on the command line", command("history", "<folder>/t/name=a")),
    8: ("a wrong column in a filter", with_table(lambda table, _: table.toDF().where("nmae = 'a'"))),
    9: ("a wrong column in an UPDATE", with_table(lambda table, _: table.update("id = 1", {"nmae": "'x'"}))),
    10: ("a wrong column in a DELETE", with_table(lambda table, _: table.delete("nmae = 'a'"))),
    11: ("an unquoted string in an UPDATE", with_table(lambda table, _: table.update("id = 1", {"name": "x"}))),
    12: ("a value in an UPDATE that is no string", with_table(lambda table, _: table.update("id = 1", {"id": 5}))),
    13: ("an append of another type", lambda at: at.table() and at.append("select 'x' id, 'c' name")),
    14: ("an append with one more column", lambda at: at.table() and at.append("select 3L id, 'c' name, 1 more")),
    15: (
        "an overwrite with another schema",
        lambda at: at.table() and at.frame("select 'x' other").write.format("delta").mode("overwrite").save(at.path),
    ),
    16: ("a write without a mode", lambda at: at.table() and at.frame().write.format("delta").save(at.path)),
    17: ("a misspelt mode", lambda at: at.table() and bayou.write(at.frame(), at.path, mode="apend")),  # type: ignore[arg-type]
    18: (
        "an append with other partition columns",
        lambda at: at.table() and at.frame().write.format("delta").mode("append").partitionBy("name").save(at.path),
    ),
    19: ("an unknown partition column", lambda at: at.frame().write.format("delta").partitionBy("day").save(at.path)),
    20: ("two columns of one name", lambda at: at.frame("select 1 a, 2 a").write.format("delta").save(at.path)),
    21: ("a column name with a space", lambda at: at.frame("select 1 `a b`").write.format("delta").save(at.path)),
    22: (
        "a MERGE with two source rows for one row",
        lambda at: _merge(at, "select 1L id, explode(array('x', 'y')) name").whenMatchedUpdateAll().execute(),
    ),
    23: ("a MERGE without aliases", _unaliased_merge),
    24: ("a MERGE without a clause", lambda at: _merge(at).execute()),
    25: ("a MERGE without execute()", _forgotten_execute),
    26: ("a path on S3 without its package", own_session("s3")),
    27: ("a path on GCS without its package", own_session("gs")),
    28: (
        "a version out of range",
        with_table(lambda _, at: at.spark.read.format("delta").option("versionAsOf", 9).load(at.path)),
    ),
    29: (
        "a timestamp out of range",
        with_table(lambda _, at: at.spark.read.format("delta").option("timestampAsOf", "2001-01-01").load(at.path)),
    ),
    30: (
        "the change feed of a table without one",
        with_table(
            lambda _, at: at.spark.read.format("delta").option("readChangeFeed", True).option("startingVersion", 0).load(at.path)
        ),
    ),
    31: ("a misspelt property", on_table("ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnyl' = 'true')")),
    32: ("a bad value of a property", on_table("ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'yes')")),
    33: ("a dropped column without column mapping", on_table("ALTER TABLE {t} DROP COLUMN name")),
    34: ("a renamed column without column mapping", on_table("ALTER TABLE {t} RENAME COLUMN name TO title")),
    35: (
        "rows outside of replaceWhere",
        lambda at: at.table() and at.frame().write.format("delta").mode("overwrite").option("replaceWhere", "id < 3").save(at.path),
    ),
    36: (
        "a row that breaks a CHECK constraint",
        lambda at: at.table(configuration={"delta.constraints.small": "id < 3"}) and at.append("select 3L id, 'c' name"),
    ),
    37: ("an INSERT of too few values", on_table("INSERT INTO {t} VALUES (3)")),
    38: (
        "an unknown type in a builder",
        lambda at: bayou.DeltaTable.create(at.spark).location(at.path).addColumn("id", "integr").execute(),
    ),
    39: ("a broken commit", _broken_commit),
    40: ("a deleted data file", _lost_file),
    41: ("a DataFrame after spark.stop()", own_session("DataFrame")),
    42: ("a DeltaTable after spark.stop()", own_session("DeltaTable")),
    43: ("a second session without enable", works(_second_session)),
    44: ("format('delta') before enable", own_session("before")),
    45: ("VACUUM in SQL", works(lambda at: at.table() and at.sql("VACUUM {t} DRY RUN"))),
    46: ("OPTIMIZE in SQL", works(lambda at: at.table() and at.sql("OPTIMIZE {t}"))),
    47: ("RESTORE in SQL", works(lambda at: at.table() and at.sql("RESTORE TABLE {t} TO VERSION AS OF 0"))),
    48: ("VACUUM as a method", works(with_table(lambda table, _: table.vacuum()))),
    49: ("OPTIMIZE as a method", works(with_table(lambda table, _: table.optimize().executeCompaction()))),
    50: ("RESTORE as a method", works(with_table(lambda table, _: table.restoreToVersion(0)))),
    51: (
        "table_changes() in SQL",
        works(lambda at: at.table(configuration=FEED) and at.spark.sql(f"SELECT * FROM table_changes_by_path('{at.path}', 1)")),
    ),
    52: ("DESCRIBE HISTORY in SQL", works(lambda at: at.table() and at.sql("DESCRIBE HISTORY {t}"))),
    53: ("a session of Spark Connect", lambda _: bayou.enable(ConnectSession())),  # type: ignore[arg-type]
    54: ("enable of a builder", _builder),
    55: ("enable of None", lambda _: bayou.enable(None)),  # type: ignore[arg-type]
    56: ("enable of a SparkContext", lambda at: bayou.enable(at.spark.sparkContext)),  # type: ignore[arg-type]
    57: (
        "the JAR of delta-spark on the session",
        Documented("docs/differences.md", "A session that already has delta-spark's JAR"),
    ),
    58: ("bayou.enable without PySpark", without_pyspark("import bayou; bayou.enable")),
    59: ("Java 11", Documented("README.md", "PySpark needs Java 17 or 21")),
    60: ("Python 3.9", Documented("pyproject.toml", 'requires-python = ">=3.10"')),
    61: ("a pathlib.Path to load()", with_table(lambda _, at: at.spark.read.format("delta").load(Path(at.path)))),  # type: ignore[arg-type]
    62: ("spark.read.delta", lambda at: at.spark.read.delta(at.path)),  # type: ignore[attr-defined]
    63: ("bayou.write of a pandas DataFrame", _pandas),
    64: ("df.write.parquet over a table", Documented(TROUBLESHOOTING, "a table lost its rows after `df.write.parquet(path)`")),
    65: ("spark.read.parquet of a table", Documented(TROUBLESHOOTING, "deleted rows appear")),
    66: ("help(bayou) without PySpark", without_pyspark(HELP)),
    67: ("from bayou import * without PySpark", without_pyspark("from bayou import *")),
}


NOT_ASKED: dict[int, tuple[str, str]] = {
    8: (
        "Spark resolves the columns of a DataFrame by itself",
        "`[UNRESOLVED_COLUMN.WITH_SUGGESTION]`, after the line of a filter or a `select`",
    ),
    44: ("The session does not know bayou", "`[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta`"),
    61: ("PySpark passes the path to the JVM first", "`'PosixPath' object has no attribute '_get_object_id'`"),
    62: ("The reader is PySpark's, and bayou adds no methods to it", "`'DataFrameReader' object has no attribute 'delta'`"),
    64: ("Spark's Parquet writer does not look for a table in the folder", "a table lost its rows after `df.write.parquet(path)`"),
    65: ("Spark's Parquet reader does not look for a table in the folder", "deleted rows appear"),
}
"""Mistakes that bayou cannot answer, because it does not run when they happen: why not, and the line that has the answer."""


def reason_of(number: int) -> str:
    """Why an answer is not of bayou, and where a reader finds it; empty for the answers of bayou."""
    if number not in NOT_ASKED:
        return ""
    why, words = NOT_ASKED[number]
    assert f"| {words}" in (ROOT / TROUBLESHOOTING).read_text(encoding="utf-8"), f"{TROUBLESHOOTING} has no line for: {words}"
    return f"\n--- Not an answer of bayou. {why}. {TROUBLESHOOTING} has a line for it."


def title(number: int) -> str:
    return f"{number} {MISTAKES[number][0]}"


def block(number: int, spark: SparkSession, folder: Path) -> str:
    """A mistake as it is stored: its number and name, the class of the error, and its text."""
    try:
        found = MISTAKES[number][1](Place(spark, folder))
    except Exception as error:  # noqa: BLE001  (whatever a user gets)
        found = error
    assert isinstance(found, Exception | str), f"{title(number)}: nothing was raised"
    kind = f" ({type(found).__name__})" if isinstance(found, Exception) else ""
    text = TIMESTAMP.sub("<time>", re.sub(r"#\d+L?", "#n", str(found).partition("\n\nJVM stacktrace")[0]))
    for place in (f"file://{folder}", f"file:{folder}", str(folder)):
        text = text.replace(place, "<folder>")
    return f"# {title(number)}{kind}\n{text.rstrip()}{reason_of(number)}\n"


def blocks_of(text: str) -> dict[int, str]:
    """The blocks of the file by the numbers of their mistakes."""
    return {int(each.split()[1]): f"{each.rstrip()}\n" for each in re.split(r"^(?=# \d+ )", text, flags=re.MULTILINE) if each}


def rendered(spark: SparkSession) -> str:
    """The content of the file."""
    blocks = []
    for number in MISTAKES:
        with tempfile.TemporaryDirectory() as folder:
            blocks.append(block(number, spark, Path(folder).resolve()))
    return "\n".join(blocks)
