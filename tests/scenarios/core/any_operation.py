# SPDX-License-Identifier: Apache-2.0
"""Operations drawn at random, by hypothesis or by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from tests.scenarios.core.operations import Annotate, Append, Compact, Evict, InsertFromSelect, Operation, Rewrite, Row, Where

Choose: TypeAlias = Callable[[Sequence[Any]], Any]
"""Takes one of some values."""

KINDS: Final = ("append", "append", "batch", "delete", "update", "overwrite", "select", "select", "compact", "annotate", "evict")

_DAYS: Final = ("mon", "tue", None)
_NUMBERS: Final = (None, 0, 1, 2, 3, 4)
_STATISTICS: Final = ("tight", "wide", "counts", "none")
_NOTES: Final = tuple((name, value) for name in "ab" for value in "12")


def any_operation(choose: Choose, serial: int, kinds: Sequence[str] = KINDS) -> Operation:  # noqa: PLR0911  (one for each kind)
    """An operation of one of some kinds; `serial` makes the keys of its rows unique."""
    kind, statistics = choose(kinds), choose(_STATISTICS)
    match kind:
        case "append":
            return Append(_rows(choose, serial), statistics)
        case "batch":
            return Append(_rows(choose, serial), statistics, (choose("pq"), choose(range(3))))
        case "delete":
            return Rewrite(_where(choose), statistics=statistics)
        case "update":
            return Rewrite(_where(choose), choose((1, 2)), statistics=statistics)
        case "overwrite":
            return Rewrite(_where(choose), None, _rows(choose, serial), choose((None, *_NOTES)), statistics)
        case "select":
            return InsertFromSelect(_where(choose), str(serial), choose(_DAYS), statistics)
        case "compact":
            return Compact(_where(choose), statistics)
        case "annotate":
            return Annotate(choose(_NOTES))
        case _:
            return Evict(choose(range(4)))


def _rows(choose: Choose, serial: int) -> tuple[Row, ...]:
    return tuple((f"{serial}.{place}", choose(_DAYS), choose(_NUMBERS)) for place in range(choose((1, 2))))


def _where(choose: Choose) -> Where:
    groups = choose((0, 1, 1, 2))
    return tuple(tuple(_term(choose) for _ in range(choose((1, 1, 2)))) for _ in range(groups)) if groups else None


def _term(choose: Choose) -> tuple[Any, ...]:
    match choose(("day", "compare", "list", "null")):
        case "day":
            return ("day", "==", choose(("mon", "tue")))
        case "compare":
            return ("x", choose(("==", "!=", "<", ">=")), choose(range(5)))
        case "list":
            return ("x", choose(("in", "not in")), (1, 3))
        case _:
            return (choose(("day", "x")), choose(("is null", "is not null")))
