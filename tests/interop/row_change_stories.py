# SPDX-License-Identifier: Apache-2.0
"""Random tables, and random sequences of operations that change their rows."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.interop.row_change_columns import COLUMNS
from tests.interop.row_change_operations import (
    Append,
    Clause,
    Delete,
    Merge,
    Replace,
    Story,
    Table,
    Update,
    rows_query,
)

FIELDS = {"s.a": ("{t}s.a + 1", "9L", "null", "'8'"), "s.b": ("'field'", "null", "{t}id")}
PARTITIONS = ("k", "t", "day", "d", "g", "at", "local", "ok", "raw", "r", "i", "c", "vc")
GENERATED = {"g BIGINT GENERATED ALWAYS AS (id * 2)": "id * 2", "g INT GENERATED ALWAYS AS (k + 1)": "n % 3 + 1"}
CHECKS = ("id is null or id >= 0", "id is null or id < 90", "k is null or k <> 7", "k is null or k < 5")
# delta-spark takes the filters of Spark's data sources alone for REPLACE WHERE.
REPLACED = {
    "id": ("id < 4", "id in (1, 5, 7)", "id is null", "not id <=> 3"),
    "k": ("k = 1", "k is not null", "k in (0, 2)", "(k = 1 or k is null)"),
    "v": ("v > 20", "v <= 50"),
    "t": ("t >= 't/ 2'", "t like 't/%'"),
    "d": ("d = 1.25",),
    "f": ("f > 1", "f <= double('NaN')"),
    "day": ("day >= '2024-02-02'",),
    "ok": ("ok = true", "ok is null"),
    "i": ("i >= 300", "i in (100, 200)"),
    "vc": ("vc = 'v 1'",),
}
ONS = (
    "t.id = s.id",
    "t.id = s.id",
    "t.id = s.id",
    "t.id = s.id and t.k = s.k",
    "t.k = s.k",
    "t.k <=> s.k and t.id = s.id",
    "t.id <=> s.id",
    "t.id = s.id and t.id > 2",
    "t.id + 1 = s.id",
    "t.id > s.id and s.id > 6",
    "t.id = s.id and s.id <> 3",
)


def one_in(number: int) -> st.SearchStrategy[bool]:
    """True in one of so many cases; what is drawn first when a failure is made smaller is False."""
    return st.integers(0, number - 1).map(lambda drawn: drawn == number - 1)


def rows(most: int) -> st.SearchStrategy[Any]:
    number = st.integers(0, 10).map(lambda drawn: drawn if drawn < 10 else None)
    return st.lists(st.tuples(number, number), min_size=1, max_size=most).map(tuple)


@st.composite
def tables(draw: Any) -> Table:
    more = draw(st.lists(st.sampled_from([each for each in COLUMNS if each not in ("id", "k", "v")]), max_size=5, unique=True))
    columns = ("id", "k", "v", *more)
    generated = draw(st.sampled_from(list(GENERATED))) if draw(one_in(4)) else None
    there = [each for each in PARTITIONS if each in columns or (each == "g" and generated)]
    partition_by = tuple(draw(st.lists(st.sampled_from(there), max_size=2, unique=True)))
    properties = {"enableDeletionVectors": str(draw(st.booleans())).lower()}
    for name, values in {
        "enableChangeDataFeed": ["true"],
        "enableRowTracking": ["true"],
        "columnMapping.mode": ["name", "id"],
        "enableInCommitTimestamps": ["true"],
    }.items():
        if draw(st.booleans()):
            properties[name] = draw(st.sampled_from(values))
    not_null = (draw(st.sampled_from(["id", "v"])),) if draw(one_in(5)) else ()
    check = draw(st.sampled_from(CHECKS)) if draw(one_in(4)) else None
    filled = rows(8)
    if not_null:
        filled = filled.map(lambda found: tuple((i or 0, n or 0) for i, n in found))
    batches = tuple(draw(st.lists(filled, min_size=1, max_size=2)))
    return Table(columns, partition_by, properties, not_null, generated, check, batches)


@st.composite
def conditions(draw: Any, columns: tuple[str, ...], prefix: str = "") -> str:
    some = [each for name in columns if name in COLUMNS for each in COLUMNS[name].conditions]
    found = [draw(st.sampled_from(some)).format(t=prefix)]
    if draw(one_in(3)):
        found.append(draw(st.sampled_from(some)).format(t=prefix))
    text = draw(st.sampled_from([" and ", " or "])).join(f"({each})" for each in found) if len(found) > 1 else found[0]
    return f"not ({text})" if draw(one_in(8)) else text


@st.composite
def assignments(draw: Any, table: Table, prefix: str = "", other: str | None = None, *, inserts: bool = False) -> dict[str, str]:
    names = [*table.columns, *(FIELDS if "s" in table.columns and not inserts else ()), *(["g"] if table.generated else [])]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    if {"s", "s.a", "s.b"} & set(chosen) > {"s"} and not draw(one_in(5)):
        chosen.remove("s")
    found = {}
    for name in chosen:
        if other is not None and name in COLUMNS and (inserts or draw(st.booleans())):
            found[name] = f"{other}{name}"
        elif name == "g":
            found[name] = draw(st.sampled_from(["null", f"{other or prefix}id * 2", "4"]))
        else:
            found[name] = draw(st.sampled_from(FIELDS.get(name) or COLUMNS[name].sets)).format(t=other if inserts else prefix)
    return found


@st.composite
def clauses(draw: Any, table: Table, kind: str) -> Clause:
    action = draw(st.sampled_from({"not matched": ["insert"]}.get(kind, ["update", "update", "delete"])))
    prefixes = {"matched": ["t.", "t.", "s."], "not matched": ["s."], "not matched by source": ["t."]}[kind]
    condition = draw(conditions(table.columns, draw(st.sampled_from(prefixes)))) if draw(st.booleans()) else None
    sets = None
    if action == "insert" and draw(st.booleans()):
        sets = draw(assignments(table, other="s.", inserts=True))
    elif action == "update" and (kind == "not matched by source" or draw(st.booleans())):
        sets = draw(assignments(table, "t.", "s." if kind == "matched" else None))
    return Clause(kind, action, condition, sets)


@st.composite
def merges(draw: Any, table: Table) -> Merge:
    found = [
        draw(clauses(table, kind))
        for kind, most in (("matched", 3), ("not matched", 2), ("not matched by source", 2))
        for _ in range(draw(st.integers(0, most)))
    ]
    found = found or [draw(clauses(table, draw(st.sampled_from(["matched", "not matched", "not matched by source"]))))]
    for kind in ("matched", "not matched", "not matched by source"):
        for each in [each for each in found if each.kind == kind][:-1]:
            if each.condition is None and not draw(one_in(20)):
                condition = draw(conditions(table.columns, "s." if kind == "not matched" else "t."))
                found[found.index(each)] = Clause(each.kind, each.action, condition, each.sets)
    evolves = draw(one_in(4))
    columns = tuple(each for each in table.columns if not draw(one_in(15)))
    changed = [each for each in columns if draw(one_in(8))]
    otherwise = {each: draw(st.sampled_from(COLUMNS[each].others)) for each in changed}
    generated = f", {GENERATED[table.generated]} as g" if table.generated and not draw(one_in(5)) else ""
    extra = generated + ", n as w" if (draw(st.booleans()) if evolves else draw(one_in(10))) else generated
    given = () if draw(one_in(12)) else draw(rows(10))
    if draw(st.booleans()):
        given = tuple({i: (i, n) for i, n in given}.values())  # of one key one row
    source = rows_query(columns, given or ((1, 1),), otherwise, extra) + ("" if given else " where false")
    return Merge(source, draw(st.sampled_from(ONS)), tuple(found), evolves, evolves or draw(st.booleans()))


@st.composite
def updates(draw: Any, table: Table) -> Update:
    condition = draw(conditions(table.columns)) if draw(st.integers(0, 4)) else None
    return Update(condition, draw(assignments(table)), draw(st.booleans()))


@st.composite
def deletes(draw: Any, table: Table) -> Delete:
    condition = draw(conditions(table.columns)) if draw(st.integers(0, 9)) else None
    return Delete(condition, draw(st.booleans()))


@st.composite
def replaces(draw: Any, table: Table) -> Replace:
    generated = f", {GENERATED[table.generated]} as g" if table.generated else ""
    query = rows_query(table.columns, draw(rows(8)), extra=generated)
    some = [text for name, texts in REPLACED.items() if name in table.columns for text in texts]
    return Replace(" and ".join(draw(st.lists(st.sampled_from(some), min_size=1, max_size=2, unique=True))), query)


@st.composite
def stories(draw: Any) -> Story:
    """A random story."""
    table = draw(tables())
    appends = rows(6).map(lambda given: Append(table.columns, rows_query(table.columns, given)))
    each = st.one_of(merges(table), merges(table), updates(table), deletes(table), replaces(table), appends)
    operations = tuple(draw(st.lists(each, min_size=2, max_size=6)))
    return Story(table, operations, (draw(updates(table)), draw(merges(table)), draw(deletes(table))))


def some_stories(number: int, count: int) -> list[Story]:
    """Stories that follow from a number. Hypothesis makes most of its examples of the one before: some of many differ more."""
    found: list[Story] = []

    @seed(number)
    @settings(max_examples=8 * count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(stories())
    def draw(story: Story) -> None:
        found.append(story)

    draw()
    return found[7::8]
