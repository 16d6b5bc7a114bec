# SPDX-License-Identifier: Apache-2.0
"""What tests of several files ask for: ways to change and to write rows, sessions, names, tables, and what streams need."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.on_connect import another_session, name_of_table
from tests.support.operations.streams import Arrivals
from tests.support.operations.writes import WRITERS
from tests.support.tables.altered import INNER, append, create
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.protocol.types.schema import StructField

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from bayou import DeltaTable


@pytest.fixture(params=[FILES, VECTORS], ids=["files", "vectors"])
def way(request: pytest.FixtureRequest) -> dict[str, str]:
    """The properties of a table: its rows change by rewriting files, or by deletion vectors and new files."""
    return request.param


@pytest.fixture(params=["10MB", "-1"], ids=["broadcast", "shuffle"])
def joins(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Whether sources are small enough to be broadcast."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", request.param)
    yield request.param
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Writes a DataFrame to a path in a mode."""
    return WRITERS[request.param]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session whose settings a test may change."""
    return bayou.enable(another_session(spark))


@pytest.fixture
def name(spark: SparkSession, table_path: str) -> Iterator[str]:
    """A name in the catalog that nobody has. On Spark Connect it is a name by path."""
    yield from name_of_table(spark, table_path)


@pytest.fixture
def other_name(spark: SparkSession) -> Iterator[str]:
    """A name in the catalog that nobody has, for a table of another source."""
    found = f"t_{uuid.uuid4().hex[:8]}"
    yield found
    spark.sql(f"DROP TABLE IF EXISTS {found}")


@pytest.fixture
def people(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The name of a table of people: in the catalog, or by path on Spark Connect."""
    for name in name_of_table(spark, str(tmp_path / "people"), "people"):
        spark.sql(f"create table {name} (id bigint, name string) using delta")
        spark.sql(f"insert into {name} values (1, 'a'), (2, 'b')")
        yield name


@pytest.fixture
def table(spark: SparkSession, table_path: str) -> DeltaTable:
    """Three rows of an id, a text and a struct, in one file."""
    found = create(spark, table_path, StructField("id", "integer"), StructField("name", "string"), StructField("s", INNER))
    append(spark.sql("select cast(id as int) id, concat('n', id) name, struct(cast(id as int) x, 'y' y) s from range(3)"), found)
    return found


@pytest.fixture
def mapped(table: DeltaTable) -> DeltaTable:
    """This table with column mapping."""
    table.setProperties({"delta.columnMapping.mode": "name"})
    return table


@pytest.fixture
def scripts(spark: SparkSession) -> Iterator[None]:
    """Spark runs scripts where this is set; from 4.1 on it does by itself."""
    spark.conf.set("spark.sql.scripting.enabled", "true")
    yield
    spark.conf.unset("spark.sql.scripting.enabled")


@pytest.fixture
def arrivals(spark: SparkSession, tmp_path: Path) -> Arrivals:
    """Rows that arrive for a stream, the first two of them there already."""
    found = Arrivals(spark, tmp_path / "arrivals", "id long, v int")
    found.bring([(1, 10), (2, 20)])
    return found


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A path for a query's checkpoint."""
    return str(tmp_path / "checkpoint")


@pytest.fixture
def out(tmp_path: Path) -> str:
    """A path for the table that a query writes."""
    return str(tmp_path / "out")
