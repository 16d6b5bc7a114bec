# SPDX-License-Identifier: Apache-2.0
"""A story under both engines, each on a copy of the table of its own, and what is compared after each step."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import ArrayIndexOutOfBoundsException
from tests.interop.oracle import version_of
from tests.interop.refusals import WRONG_ROWS, both_are_right
from tests.interop.row_change_counts import check_counts, facts, only_copies, row_counts
from tests.interop.row_change_operations import Merge, Story
from tests.support.observing import tracked_rows

import bayou

# Where the classes differ and both are right: each pair is one refusal in two words.
SAME = [
    # Spark resolves the names of a statement before bayou sees it.
    {"UNRESOLVED_COLUMN", "DELTA_MERGE_UNRESOLVED_EXPRESSION"},
    {"FIELD_NOT_FOUND", "DELTA_MERGE_UNRESOLVED_EXPRESSION"},
    # A source with an alias that is a column's name too, and without the field that is asked for.
    {"AMBIGUOUS_REFERENCE", "DELTA_MERGE_UNRESOLVED_EXPRESSION"},
    # A struct that lacks a field of the column: Spark looks for a cast first.
    {"DATATYPE_MISMATCH", "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"},
    # Spark's parser refuses the statement, the methods have delta-spark's class.
    *(
        {f"NON_LAST_{kind}_CLAUSE_OMIT_CONDITION", f"DELTA_NON_LAST_{kind.removesuffix('_BY_TARGET')}_CLAUSE_OMIT_CONDITION"}
        for kind in ("MATCHED", "NOT_MATCHED_BY_TARGET", "NOT_MATCHED_BY_SOURCE")
    ),
]
MULTIPLE = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
NO_CLAUSE = "Unexpected row: did not match any merge clause"
"""delta-spark's MERGE by vectors fails so where a clause's condition is NULL for a row that a later clause deletes."""

OF_CHARS = "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT"
"""How delta-spark's MERGE fails where a clause for rows of the table alone looks at a column of type CHAR."""


@dataclass(frozen=True)
class Step:
    """What an operation came to: why it was refused, and the version after it."""

    refused: str | None
    version: int


def condition_of(error: str) -> str:
    """The error's class, without its subclass: of what a task failed with, where one did."""
    unknown = re.search("Cannot find main error class '([A-Z0-9_]+)", error)
    if unknown:  # of delta-spark's, as PySpark tells it
        return unknown.group(1)
    found = [each for each in re.findall(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_]+)?\]", error) if each != "TASK_WRITE_FAILED"]
    return found[0] if found else error[:300]


class Pair:
    """The same table twice, one for each engine, and what they did to it."""

    def __init__(self, spark: Any, delta_spark: Any, story: Story, folder: Path) -> None:
        self.spark, self.delta_spark, self.story = spark, delta_spark, story
        name = uuid4().hex  # the engines remember tables by their paths
        self.theirs, self.ours = str(folder / f"theirs-{name}"), str(folder / f"ours-{name}")
        self.feeds = "enableChangeDataFeed" in story.table.properties
        self.tracks = "enableRowTracking" in story.table.properties
        made = delta_spark.begin_each([story.table.statements(f"delta.`{self.theirs}`")], self.theirs)()[0]
        assert "error" not in made, made["error"]
        shutil.copytree(self.theirs, self.ours)
        self.first = made["version"]

    def run(self, operations: Any, theirs: str, ours: str) -> tuple[list[Step], list[Step]]:
        """Both engines do the operations, delta-spark on one table and bayou on the other one."""
        asked = self.delta_spark.begin_each([[each.sql(f"delta.`{theirs}`")] for each in operations], theirs)
        mine = [Step(self._done(each, ours), version_of(ours)) for each in operations]
        return [Step(each.get("error"), each["version"]) for each in asked()], mine

    def _done(self, operation: Any, path: str) -> str | None:
        try:
            if operation.by_method:
                operation.run(self.spark, path)
            else:
                self.spark.sql(operation.sql(f"delta.`{path}`")).collect()
        except Exception as error:  # noqa: BLE001  (compared with the other engine's)
            return f"{type(error).__name__}: {error}"
        return None

    def queries(self, path: str, versions: Any) -> list[str]:
        return [f"select 'rows', {each}, to_json(struct(*)) row from delta.`{path}` version as of {each}" for each in versions]

    def found_by_delta_spark(self, path: str, versions: list[int]) -> Any:
        """Asks for the rows of some versions and the changes that they made; what waits for them by kind and version."""
        columns = "to_json(struct(* except (_commit_version, _commit_timestamp)))"
        queries = self.queries(path, versions)
        if self.feeds:
            queries += [f"select 'changes', {v}, {columns} from table_changes_by_path('{path}', {v}, {v})" for v in versions]
        asked = self.delta_spark.begin_each([[" union all ".join(queries)]], path)

        def wait() -> dict[tuple[str, int], list[str]]:
            answer = asked()[0]
            assert "error" not in answer, (path, answer["error"])
            return by_kind(versions, answer["rows"])

        return wait

    def found_by_bayou(self, path: str, versions: list[int]) -> dict[tuple[str, int], list[str]]:
        """As delta-spark finds them."""
        frames = [self.spark.sql(each) for each in self.queries(path, versions)]
        for version in versions if self.feeds else ():
            changes = bayou.read(self.spark, path, changes=(version, version)).drop("_commit_version", "_commit_timestamp")
            frames.append(changes.selectExpr("'changes'", str(version), "to_json(struct(*))"))
        return by_kind(versions, reduce(lambda one, other: one.unionAll(other), frames).collect())


def by_kind(versions: list[int], rows: Any) -> dict[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = {(kind, version): [] for kind in ("rows", "changes") for version in versions}
    for kind, version, text in rows:
        found[kind, int(version)].append(text or "")
    return {key: sorted(texts) for key, texts in found.items()}


def check_story(spark: Any, delta_spark: Any, story: Story, folder: Path) -> list[str]:
    """Both engines live through a story, and are compared after every step.

    Returns:
        The kinds of the operations that made a version of their own.

    Raises:
        AssertionError: they differ.
    """
    pair = Pair(spark, delta_spark, story, folder)
    theirs, ours = pair.run(story.operations, pair.theirs, pair.ours)
    same = _agreed(pair, story.operations, pair.first, pair.theirs, theirs, ours)
    versions = sorted({pair.first, *(each.version for each in ours[:same])})
    asked = pair.found_by_delta_spark(pair.theirs, versions)
    mine, other = pair.found_by_bayou(pair.ours, versions), asked()
    for version in versions:
        _compare(pair, mine, other, version, pair.ours, pair.theirs)
    before = [pair.first, *(each.version for each in ours)]
    steps = zip(story.operations[:same], ours, before, strict=False)
    committed = [type(operation).__name__ for operation, step, version in steps if step.version > version]
    if same < len(story.operations):
        return committed
    if pair.tracks:
        _compare_ids(pair)
    crossed = pair.run(story.last, pair.ours, pair.theirs)
    if _agreed(pair, story.last, ours[-1].version, pair.ours, *crossed) < len(story.last):
        return committed
    versions = sorted({each.version for each in crossed[1]} - set(versions))
    if not versions:
        return committed
    found = []
    for path in (pair.ours, pair.theirs):
        asked = pair.found_by_delta_spark(path, versions)
        found += [pair.found_by_bayou(path, versions), asked()]
    assert found[1:] == found[:1] * 3
    for version in versions:
        _compare(pair, found[2], found[1], version, pair.theirs, pair.ours)
    for path in (pair.ours, pair.theirs):
        bayou.open(path).verify_checksum()
    return committed


def _agreed(pair: Pair, operations: Any, before: int, path: str, theirs: list[Step], ours: list[Step]) -> int:
    """After how many steps both have taken or refused the same; all of them but where it is known that they differ.

    Args:
        pair: the tables.
        operations: what was done.
        before: the version that it was done on.
        path: where delta-spark did it.
        theirs: what it came to there.
        ours: what it came to where bayou did it.
    """
    for number, (operation, other, mine) in enumerate(zip(operations, theirs, ours, strict=True)):
        if other.refused and isinstance(operation, Merge) and _on_purpose(pair, operation, mine, other.refused, before):
            return number
        if "CAST_INVALID_INPUT" in (mine.refused or "") and "named_struct('b'" in operation.sql("T"):
            return number  # Spark casts constants, structs by position, before bayou sees the statement
        first, second = (None if each.refused is None else condition_of(each.refused) for each in (other, mine))
        is_same = first == second or {first, second} in SAME or both_are_right(other.refused or "", first, second)
        assert is_same, (operation.sql("T"), mine, other)
        if mine.version + 1 == other.version and only_copies(path, other.version):
            return number  # a MERGE that changes no row
        assert mine.version == other.version, (operation.sql("T"), mine, other)
        before = mine.version
    return len(operations)


def _on_purpose(pair: Pair, merge: Merge, mine: Step, refusal: str, version: int) -> bool:
    """Whether it is on purpose that bayou takes a MERGE that delta-spark refuses, or finds something else wrong with its rows."""
    if NO_CLAUSE in refusal:
        return mine.refused is None
    if MULTIPLE in refusal:
        if mine.refused is None:
            return unambiguous(pair, merge, version)
        return any(each in mine.refused for each in WRONG_ROWS)
    if "[INVALID_ARRAY_INDEX]" in refusal and mine.refused is None:
        return not fails_in_order(pair, merge, version)
    if OF_CHARS in refusal:
        return "c" in pair.story.table.columns
    has_star = any(each.sets is None and each.action != "delete" for each in merge.clauses)
    lacks_generated = pair.story.table.generated is not None and not merge.source_has("g")
    return "DELTA_MERGE_UNRESOLVED_EXPRESSION" in refusal and has_star and lacks_generated


def unambiguous(pair: Pair, operation: Merge, version: int) -> bool:
    """Whether at most one source row changes each row of the table in a MERGE."""
    conditions = [each.condition or "true" for each in operation.clauses if each.kind == "matched"]
    changes = " or ".join(["false", *(f"coalesce({each}, false)" for each in conditions)])
    numbered = f"(select *, monotonically_increasing_id() __row from delta.`{pair.ours}` version as of {version}) t"
    pairs = f"select count_if({changes}) n from {numbered} join ({operation.source}) s on {operation.on} group by __row"
    return (pair.spark.sql(f"select max(n) from ({pairs})").first()[0] or 0) <= 1


def fails_in_order(pair: Pair, merge: Merge, version: int) -> bool:
    """Whether a condition of a MERGE fails for a row that it is about and no earlier clause takes; delta-spark asks others, too."""
    table, source = f"(select * from delta.`{pair.ours}` version as of {version}) t", f"({merge.source}) s"
    rows = {
        "matched": f"{table} join {source}",
        "not matched": f"{source} left anti join {table}",
        "not matched by source": f"{table} left anti join {source}",
    }
    for kind, found in rows.items():
        conditions = [each.condition or "true" for each in merge.clauses if each.kind == kind]
        taken = " ".join(f"when {each} then {number}" for number, each in enumerate(conditions))
        if not taken:
            continue
        try:
            pair.spark.sql(f"select max(case {taken} end) from {found} on {merge.on}").collect()
        except ArrayIndexOutOfBoundsException:
            return True
    return False


def _compare(pair: Pair, mine: Any, other: Any, version: int, ours: str, theirs: str) -> None:
    for kind in ("rows", "changes"):
        assert mine[kind, version] == other[kind, version], (kind, version)
    if version == pair.first:
        return
    assert facts(ours, version) == facts(theirs, version), version
    assert row_counts(ours, version) == row_counts(theirs, version), version
    check_counts(ours, version)


def _compare_ids(pair: Pair) -> None:
    """Rows that were there in the beginning have the same ids, and no id is there twice."""
    query = "select _metadata.row_id, _metadata.row_commit_version, to_json(struct(*)) from delta.`{}`"
    asked = pair.delta_spark.begin_each([[query.format(each)] for each in (pair.ours, pair.theirs)], pair.ours)()
    found = [sorted((int(id_), int(version), text) for id_, version, text in each["rows"]) for each in asked]
    first = sum(len(batch) for batch in pair.story.table.batches)
    mine, other = ([each for each in rows if each[0] < first] for rows in found)
    assert mine == other
    assert sorted(version for _, version, _ in found[0]) == sorted(version for _, version, _ in found[1])
    for path, rows in zip((pair.ours, pair.theirs), found, strict=True):
        assert len({each[0] for each in rows}) == len(rows)
        held = sorted((id_, version) for _, id_, version in tracked_rows(path))
        assert held == [each[:2] for each in rows], json.dumps(held)
