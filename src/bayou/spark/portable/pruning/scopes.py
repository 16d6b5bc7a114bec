# SPDX-License-Identifier: Apache-2.0
"""The names in a query that certainly mean the columns of one table in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from typing_extensions import Self

    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.text.tree import Name

_NOTHING: Final[frozenset[int]] = frozenset()
_CASE_SENSITIVE: Final = "spark.sql.caseSensitive"


@dataclass(frozen=True, slots=True)
class Visible:
    """A column of the table that a place in the query sees.

    Attributes:
        name: its name there.
        column: its name in the table.
        has_qualifier: whether an alias of the table may stand in front of its name.
    """

    name: str
    column: str
    has_qualifier: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names at one place of a query mean, as far as they are columns of one table.

    A name that means a column of the table here may mean one of another table as well. Spark then reports that it is ambiguous.
    A name that means no column here may mean anything.

    Attributes:
        schema: the table's columns.
        columns: the columns that are seen, by their names in lower case.
        qualifier: the alias of the table; None without one.
        is_alone: whether all names are those of the table, or of columns computed from it. Otherwise, a name of several parts may
            be that of a column of another table.
        settings: returns the session's settings. It is called only if a name has other cases than the column that it may mean.
        frames: the scopes of DataFrames below, by their numbers.
        foreign: the numbers of DataFrames on the other side of joins.
    """

    schema: StructType
    columns: Mapping[str, Visible]
    qualifier: str | None = None
    is_alone: bool = True
    settings: Callable[[], Mapping[str, str]] = dict
    frames: Mapping[int, Scope] = field(default_factory=dict)
    foreign: frozenset[int] = _NOTHING

    @classmethod
    def of(cls, schema: StructType, qualifier: str | None = None, settings: Callable[[], Mapping[str, str]] = dict) -> Self:
        """Return the scope of a table without anything around it."""
        columns = {each.name.lower(): Visible(each.name, each.name) for each in schema.fields}
        return cls(schema, columns, qualifier, settings=settings)

    def path_of(self, name: Name) -> tuple[str, ...] | None:
        """Return the path in the schema that a name means; None if it is not certain."""
        found = self._found(name.parts)
        if name.frame is None or found is None:
            return None if found is None else (found[0].column, *found[1])
        below = self.frames.get(name.frame)
        if below is None or name.frame in self.foreign:
            return None
        path = below.path_of(replace(name, frame=None))
        return path if path == (found[0].column, *found[1]) else None

    def with_alias(self, alias: str | None) -> Scope:
        """Return the scope above an alias; None for a subquery without one, outside of which no alias in it is known."""
        columns = {key: replace(each, has_qualifier=True) for key, each in self.columns.items()}
        return replace(self, columns=columns, qualifier=alias)

    def as_frame(self, number: int) -> Scope:
        """Return the scope in which columns may be taken from a DataFrame with this number."""
        if number in self.frames:  # it is not certain which one a column means
            return replace(self, foreign=self.foreign | {number})
        return replace(self, frames={**self.frames, number: replace(self, frames={})})

    def with_other_side(self, foreign: Iterable[int] = (), hidden: Iterable[str] = ()) -> Scope:
        """Return the scope above a join.

        Args:
            foreign: the numbers of the DataFrames on the other side.
            hidden: the columns that the join takes from the other side, in lower case.
        """
        return replace(self.without(hidden), is_alone=False, foreign=self.foreign.union(foreign))

    def without(self, names: Iterable[str]) -> Scope:
        """Return the scope without some columns, by their names in lower case. Others may have these names."""
        gone = frozenset(names)
        return replace(self, columns={key: each for key, each in self.columns.items() if key not in gone})

    def with_columns(self, columns: Collection[Visible], *, is_alone: bool) -> Scope:
        """Return the scope in which only some columns are seen, and others that are computed."""
        counts = [each.name.lower() for each in columns]
        kept = {each.name.lower(): each for each in columns if counts.count(each.name.lower()) == 1}
        return replace(self, columns=kept, is_alone=is_alone)

    def _found(self, parts: tuple[str, ...]) -> tuple[Visible, tuple[str, ...]] | None:
        """Return the column that a name begins with, and the names of the fields inside it."""
        if self.qualifier is not None and len(parts) > 1 and self.is_same(parts[0], self.qualifier):
            # Above a join, a name of three parts may begin with two qualifiers of another table.
            seen = self._seen(parts[1]) if self.is_alone or len(parts) == len(("alias", "column")) else None
            return None if seen is None or not seen.has_qualifier else (seen, parts[2:])
        seen = self._seen(parts[0]) if self.is_alone or len(parts) == 1 else None
        return None if seen is None else (seen, parts[1:])

    def _seen(self, name: str) -> Visible | None:
        seen = self.columns.get(name.lower())
        return seen if seen is not None and self.is_same(name, seen.name) else None

    def is_same(self, name: str, other: str) -> bool:
        """Whether two names mean the same column in the session."""
        return name == other or (name.lower() == other.lower() and not self._is_case_sensitive())

    def _is_case_sensitive(self) -> bool:
        return self.settings().get(_CASE_SENSITIVE, "false").lower() == "true"
