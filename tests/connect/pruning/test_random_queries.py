# SPDX-License-Identifier: Apache-2.0
"""Random queries have the same rows whether files are left out or not."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.pruning.conftest import rows

from bayou.spark.portable.answers import TableAnswers

QUERIES = 12
SEEDS = 5
VIEWS = ("random_1", "random_2", "random_3")
COLUMNS = ("id", "x", "y", "n", "st.f", "s")


class Queries:
    """Random queries over the tables a and b, as SQL and as DataFrames."""

    def __init__(self, seed: int, paths: tuple[str, str]) -> None:
        self.of = random.Random(seed)
        self.paths = paths
        self.tables = [f"delta.`{path}`" for path in paths]
        self.names = 0

    def make_views(self, spark) -> None:
        """Create temporary views over tables, queries, DataFrames and each other."""
        frames = [
            lambda: spark.read.format("delta").load(self.paths[0]),
            lambda: spark.sql(self.query(self.of.choice([0, 1]), star=True)),
            lambda: self.frame(spark, 2),
            lambda: spark.table(self.tables[-1]).where(self.condition(["id"], 0).replace("id.", "")),
        ]
        for name in VIEWS:
            self.of.choice(frames[: 3 if name == VIEWS[0] else 4])().createOrReplaceTempView(name)
            self.tables.append(name)

    def value(self, column: str) -> str:
        number = self.of.choice([0, 3, 9, 10, 12, 20, 25, 39, 40])
        return {"y": str(number * 10), "s": f"'k{number:02}'", "x": str(number % 5)}.get(column, str(number))

    def leaf(self, aliases: list[str]) -> str:
        name = self.of.choice(COLUMNS)
        column = f"{self.of.choice(aliases)}.{name}" if len(aliases) > 1 or self.of.random() < 0.5 else name
        value = self.value(name)
        return self.of.choice(
            [
                *(f"{column} {sign} {value}" for sign in ("=", "<", ">=", "<=>", "!=")),
                f"{value} > {column}",
                f"{column} in ({value}, {self.value(name)})",
                f"{column} between {value} and {self.value(name)}",
                f"{column} is null",
                f"{column} is not null",
                f"coalesce({column}, {value}) = {value}",
                f"{column} = {self.of.choice(aliases)}.{name}",
                f"{column} in (select {name} from {self.of.choice(self.tables)} where {name} >= {value})",
            ]
        )

    def condition(self, aliases: list[str], depth: int = 2) -> str:
        if not depth or self.of.random() < 0.4:
            return self.leaf(aliases)
        joined = self.of.choice([" and ", " and ", " or "]).join(self.condition(aliases, depth - 1) for _ in range(2))
        return f"not ({joined})" if self.of.random() < 0.15 else f"({joined})"

    def source(self, depth: int) -> str:
        if depth and self.of.random() < 0.25:
            return f"({self.query(depth - 1, star=True)})"
        return self.of.choice(self.tables)

    def block(self, depth: int) -> tuple[str, list[str]]:
        """A FROM with its WHERE, and the aliases that it has."""
        self.names += 1
        aliases = [f"t{self.names}"]
        text = f"from {self.source(depth)} {aliases[0]}"
        for _ in range(self.of.choice([0, 0, 1, 1, 2])):
            self.names += 1
            alias = f"t{self.names}"
            kind = self.of.choice(
                ["join", "left join", "right join", "full join", "left semi join", "left anti join", "cross join"]
            )
            text += f" {kind} {self.source(depth)} {alias}"
            if kind != "cross join":
                text += f" on {aliases[0]}.id = {alias}.id and {self.condition([aliases[0], alias], 1)}"
            aliases += [] if "semi" in kind or "anti" in kind else [alias]
        if self.of.random() < 0.85:
            text += f" where {self.condition(aliases)}"
            if self.of.random() < 0.2:
                inner = f"select 1 from {self.of.choice(self.tables)} e where e.id = {aliases[0]}.id and {self.condition(['e'], 1)}"
                text += f" and {self.of.choice(['', 'not '])}exists ({inner})"
        return text, aliases

    def query(self, depth: int = 1, *, star: bool = False) -> str:
        text, aliases = self.block(depth)
        if star:
            limit = self.of.choice(["", "", "", f" order by {aliases[0]}.id nulls last limit 7"])
            t = aliases[0]
            items = [
                f"{t}.*",
                f"{t}.*",
                f"{t}.y as id, {t}.id as y, {t}.x, {t}.n, {t}.st, {t}.s",
                f"{t}.id, 1 + {t}.x as x, {t}.n y, {t}.y as n, {t}.st, {t}.s",
            ]
            return f"select {self.of.choice(items)} {text}{limit}"
        columns = ", ".join(f"{alias}.{name}" for alias in aliases for name in ("id", "n"))
        found = self.of.choice([f"select {columns} {text}", f"select count(*), sum({aliases[0]}.y) {text}"])
        if self.of.random() < 0.3:
            name = self.of.choice(["c", *VIEWS[:1]])
            found = found.replace(f"from {self.of.choice(self.tables)} t", f"from {name} t", self.of.choice([1, 1, 2]))
            found = f"with {name} as ({self.query(0, star=True)}) {found}"
        return found

    def frame(self, spark, depth: int = 4):
        """A random DataFrame with the columns id, x, y, n, st and s."""
        table = self.of.choice(self.tables)
        frame = spark.table(table)
        if self.of.random() < 0.3:
            frame = spark.sql(self.query(1, star=True) if self.of.random() < 0.5 else f"select * from {table}")
        for _ in range(depth):
            frame = self.step(spark, frame, depth)
        return frame

    def step(self, spark, frame, depth: int):
        kind = self.of.choice([*["filter"] * 4, "limit", "swap", "computed", "alias", "distinct", "join", "rename"])
        if kind != "join":
            return {
                "filter": lambda: frame.alias("f").where(self.condition(["f"], 1)),
                "limit": lambda: frame.orderBy("id", "y", "n").limit(15),
                "swap": lambda: frame.selectExpr("y as id", "id as y", "x", "n", "st", "s"),
                "computed": lambda: frame.withColumn("n", frame["x"] + 9),
                "alias": lambda: frame.alias("g").select("g.*"),
                "distinct": lambda: frame.dropDuplicates(["id"]),
                "rename": lambda: frame.withColumnRenamed("id", "z").withColumnRenamed("y", "id").withColumnRenamed("z", "y"),
            }[kind]()
        how = self.of.choice(["inner", "left", "right", "full", "semi", "anti"])
        other = self.frame(spark, depth // 2).alias("r") if depth > 1 else spark.table(self.of.choice(self.tables)).alias("r")
        joined = frame.alias("l").join(other, F.expr(f"l.id = r.id and {self.condition(['l', 'r'], 1)}"), how)
        side = "l" if how in ("semi", "anti") else self.of.choice(["l", "r"])
        return joined.where(self.condition([side, side], 1)).select(f"{side}.*")


@pytest.fixture
def both_ways(monkeypatch):
    """Returns the rows of a query while no file is left out, those while some are, and whether any was."""
    prune = TableAnswers._pruned

    def run(query):
        chosen = []

        def noting(*arguments):
            chosen.append(prune(*arguments)[1])
            return prune(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(TableAnswers, "_pruned", lambda *_: (None, None))
            every = rows(query())
            patch.setattr(TableAnswers, "_pruned", noting)
            return every, rows(query()), any(each is not None for each in chosen)

    return run


@pytest.fixture
def queries(spark, tables):
    """Returns queries of a seed. The views are gone after the test."""

    def made(seed, *, has_views=False):
        found = Queries(seed, (tables[0].path, tables[1].path))
        if has_views:
            found.make_views(spark)
        return found

    yield made
    for name in VIEWS:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_sql_has_the_same_rows(spark, queries, both_ways, seed):
    made = queries(seed, has_views=seed % 2 == 1)
    skipped = 0
    for _ in range(QUERIES):
        text = made.query()
        every, found, skips = both_ways(lambda text=text: spark.sql(text))
        assert found == every, text
        skipped += skips
    assert skipped > QUERIES // 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_frames_have_the_same_rows(spark, queries, both_ways, seed):
    made = queries(seed, has_views=seed % 2 == 1)
    skipped = 0
    for _ in range(QUERIES):
        frame = made.frame(spark)
        every, found, skips = both_ways(lambda frame=frame: frame)
        assert found == every, frame._plan
        skipped += skips
    assert skipped > QUERIES // 3
