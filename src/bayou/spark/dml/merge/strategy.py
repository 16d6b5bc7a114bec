# SPDX-License-Identifier: Apache-2.0
"""Choose the joins of a MERGE, from facts about its clauses, its source and its table.

`choose_strategy` is a pure function. It is called twice: for the plan, before the first pass; and for the second pass, with the
result of the first pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BYTES: Final = 256 << 20
"""The most bytes of a source for `Part.SOURCE`.

With this part, each task that reads the source writes a file. If a source is large and a filter leaves few of its rows, a job over
the table's files has fewer tasks and writes fewer files.
"""
ONE_TASK: Final = 4 << 20
"""The most bytes that one task reads and writes: it equals Spark's estimate for the cost of opening a file."""
FEW_FILES: Final = 32
"""The most files that one task opens one after the other."""


class Part(Enum):
    """A join that computes some of the rows that the second pass writes. The value describes it in a plan."""

    TABLE = "rewritten rows: the table's files that changed, joined with the source"
    INSERTS = "inserted rows: the source without the rows that match"
    BOTH = "rewritten and inserted rows: an outer join of the table's files that matched and the source"
    SOURCE = "updated and inserted rows: the source, joined with the keys that matched"


class Matches(Enum):
    """The matches of a table row that take part in `Part.TABLE`. Each row must come out of the join once."""

    ALL = "all"
    """Each row has at most one match."""
    CHANGING = "those that a clause changes"
    ONE = "one: the one that a clause changes, if any"


@dataclass(frozen=True, slots=True)
class MergeFacts:
    """The facts that decide the joins of a MERGE before it reads the table.

    Attributes:
        source_rows: the number of rows of the source.
        source_bytes: the bytes to read for the source: the size of its files, or of its rows if they are materialised.
        broadcasts_source: whether the source is small enough for a broadcast.
        repeats_rows: whether both passes read the same rows of the source, and evaluate conditions over them in the same way.
        has_exact_keys: whether equality identifies values of the source's keys: equal values give equal results in all
            expressions. That is false for strings with a collation, for example.
        inserts: whether a clause inserts rows.
        changes: whether a clause updates or deletes rows.
        by_source: whether there is a NOT MATCHED BY SOURCE clause.
        updates_from_source: whether updated rows need no old values: clauses set all columns from the source, files are not
            rewritten, and the table has neither a change data feed nor row ids.
        generates_identities: whether inserted rows get generated values of identity columns.
    """

    source_rows: int
    source_bytes: int
    broadcasts_source: bool
    repeats_rows: bool
    has_exact_keys: bool
    inserts: bool
    changes: bool
    by_source: bool
    updates_from_source: bool
    generates_identities: bool


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The results of the first pass that decide the joins of the second pass.

    Attributes:
        writes_table_rows: whether rows of the table pass through the job that writes.
        writes_change_rows: whether the job writes change rows.
        has_matches: whether a row of the table has a match.
        overlaps: whether a row has several matches, one of which leaves it unchanged (see `first_pass.Found`).
        repeats: whether a row that is deleted has several matches.
        num_pairs: the number of pairs that match.
        num_files: the number of files of the table that the second pass reads.
        num_bytes: the total size of these files.
    """

    writes_table_rows: bool
    writes_change_rows: bool = False
    has_matches: bool = True
    overlaps: bool = False
    repeats: bool = False
    num_pairs: int = 0
    num_files: int = 0
    num_bytes: int = 0


@dataclass(frozen=True, slots=True)
class MergeStrategy:
    """How a MERGE finds and writes rows.

    Attributes:
        broadcasts_source: whether the source is broadcast; otherwise Spark chooses the join.
        materialises_pairs: whether the first pass materialises the matching pairs for the second one.
        inserts_by_keys: whether `Part.INSERTS` compares the source with the keys that matched instead of the table's rows.
        parts: the joins whose rows are written.
        one_job: whether one job writes the rows of all parts. Otherwise each part has its own job, and `Part.INSERTS` has one for
            each set of identity columns that clauses assign: a job generates identity values for all of its rows, or for none.
        matches: the matches that take part in `Part.TABLE`.
        counts_rows: whether the job counts the rows of each kind. The total is not enough if inserted rows may hide missing rows.
        max_tasks: the most tasks that write; None for no limit.
    """

    broadcasts_source: bool
    materialises_pairs: bool
    inserts_by_keys: bool
    parts: tuple[Part, ...]
    one_job: bool
    matches: Matches
    counts_rows: bool
    max_tasks: int | None

    def lines(self) -> Iterator[str]:
        """Yield the lines that describe the strategy in a plan."""
        yield "the source is broadcast" if self.broadcasts_source else "the source is not broadcast"
        if self.materialises_pairs:
            yield "the keys that match are materialised"
        yield from (each.value for each in self.parts)


def choose_strategy(facts: MergeFacts, found: FirstPass | None = None) -> MergeStrategy:
    """Choose how a MERGE finds and writes rows.

    Args:
        found: the results of the first pass; None before it, to assume that each row has at most one match.
    """
    found = FirstPass(writes_table_rows=facts.changes, has_matches=facts.changes) if found is None else found
    by_keys = facts.broadcasts_source and facts.has_exact_keys
    inserts_by_keys = by_keys and facts.inserts
    # With a NOT MATCHED BY SOURCE clause, the materialised rows of the first pass also include rows without a match, which
    # `Part.SOURCE` does not need. Then they are materialised only if the inserts need them anyway.
    updates_by_keys = by_keys and facts.updates_from_source and (facts.inserts or not facts.by_source)
    matches = _matches(facts, found)
    parts = _parts(facts, found, matches, updates_by_keys=updates_by_keys)
    return MergeStrategy(
        broadcasts_source=facts.broadcasts_source,
        materialises_pairs=inserts_by_keys or updates_by_keys,
        inserts_by_keys=inserts_by_keys,
        parts=parts,
        one_job=not facts.generates_identities,
        matches=matches,
        counts_rows=facts.inserts and found.writes_table_rows and not facts.repeats_rows,
        max_tasks=_max_tasks(facts, found, parts),
    )


def _matches(facts: MergeFacts, found: FirstPass) -> Matches:
    if (found.overlaps and facts.by_source) or (found.writes_change_rows and found.repeats):
        return Matches.ONE
    return Matches.CHANGING if found.overlaps else Matches.ALL


def _parts(facts: MergeFacts, found: FirstPass, matches: Matches, *, updates_by_keys: bool) -> tuple[Part, ...]:
    if not facts.generates_identities:
        # `Part.SOURCE` joins the source with the matched keys. Source rows with the same keys match the same rows of the table, so
        # no table row may have several matches. The keys of the pairs are broadcast, so they must not outnumber the source.
        is_one_to_one = not found.overlaps and found.num_pairs <= facts.source_rows
        if updates_by_keys and found.writes_table_rows and is_one_to_one and facts.source_bytes <= _MOST_BYTES:
            return (Part.SOURCE,)
        if facts.inserts and found.has_matches and not facts.broadcasts_source and matches is Matches.ALL:
            return (Part.BOTH,)
    chosen = ((Part.TABLE, found.writes_table_rows), (Part.INSERTS, facts.inserts))
    return tuple(part for part, is_chosen in chosen if is_chosen)


def _max_tasks(facts: MergeFacts, found: FirstPass, parts: tuple[Part, ...]) -> int | None:
    """Return the most tasks that write, so that a small MERGE writes few files."""
    if parts == (Part.SOURCE,):
        return max(1, -(-facts.source_bytes // ONE_TASK))
    is_little = found.num_files <= FEW_FILES and found.num_bytes + facts.source_bytes <= ONE_TASK
    return 1 if is_little and Part.BOTH not in parts and not facts.generates_identities else None
