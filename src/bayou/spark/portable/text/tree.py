# SPDX-License-Identifier: Apache-2.0
"""Represent SQL expressions as immutable trees. Nothing in a tree is resolved or typed.

`start` and `end` are the place of a node in the SQL text; both are 0 for a node that comes from elsewhere. Trees
are equal if they differ only in places.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

if TYPE_CHECKING:
    from collections.abc import Iterator

Value: TypeAlias = "str | int | float | Decimal | bool | bytes | date | datetime | None"


class UnreadableTextError(ValueError):
    """bayou cannot read the SQL text without Spark's parser. Spark may still understand it.

    Attributes:
        place: the index of the character at which the reading stopped.
    """

    def __init__(self, problem: str, place: int = 0) -> None:
        """Keep the problem and its place."""
        super().__init__(problem)
        self.place = place


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of an expression, with its place in the text."""

    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A column or a field of a struct: `a.b.c`. It may also be a function without parentheses, such as `current_date`.

    Attributes:
        parts: the parts of the name.
        frame: the number of the DataFrame that a program took the column from; None for a name.
    """

    parts: tuple[str, ...]
    frame: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant.

    Attributes:
        value: the value; the string as it is written for types that only Spark converts, which are dates, timestamps and intervals.
        type: its type in Delta's names, such as `integer`, `decimal(3,1)` and `string`; `void` for NULL.
    """

    value: Value
    type: str


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter, `:name` or `?`, whose name is None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator with its operands.

    Attributes:
        operator: its name in lower case. A negated test such as NOT IN is a "not" of the test. "and" and "or" have two or more
            operands. Signs are "negative" and "positive". Tests are "is null", "is true", "is false", "is unknown",
            "is distinct from", "between", "in", "like", "ilike", "rlike", "like any", "like all", "ilike any" and "ilike all".
        operands: the operands; a third one of "like" and "ilike" is the escape character.
    """

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a function.

    Attributes:
        name: the parts of its name, as they are written.
        arguments: the arguments.
        is_distinct: whether it says DISTINCT.
        clauses: the expressions in FILTER (WHERE ...) and WITHIN GROUP (ORDER BY ...).
    """

    name: tuple[str, ...]
    arguments: tuple[Expression, ...]
    is_distinct: bool = False
    clauses: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Window(Node):
    """A call with OVER, and the expressions in the window's definition."""

    call: Call
    definition: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A cast; the type is SQL."""

    child: Expression
    type: str
    kind: OneOf["cast", "try_cast"] = "cast"


@dataclass(frozen=True, slots=True)
class Case(Node):
    """CASE; the operand is None for conditions, and `otherwise` is None without ELSE."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """A function without a name, such as `x -> x + 1`."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Star(Node):
    """All columns, or all columns of what the parts name."""

    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subquery(Node):
    """A query in parentheses, as text without these; `kind` says whether it is in EXISTS or IN."""

    text: str
    kind: OneOf["scalar", "exists", "list"] = "scalar"


@dataclass(frozen=True, slots=True)
class Item(Node):
    """An element of an array or a map: `a[0]`."""

    child: Expression
    key: Expression


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A field of the value of an expression that is not a name: `f(a).b`."""

    child: Expression
    name: str


@dataclass(frozen=True, slots=True)
class VariantPath(Node):
    """A part of a variant: `a:b.c`. The path is text."""

    child: Expression
    path: str


@dataclass(frozen=True, slots=True)
class Collate(Node):
    """An expression with a collation."""

    child: Expression
    collation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row(Node):
    """Values in parentheses: `(a, b)`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Named(Node):
    """An expression with aliases, or an argument with a name."""

    child: Expression
    names: tuple[str, ...]
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class ComputedName(Node):
    """A name that an expression computes: `IDENTIFIER(...)`."""

    child: Expression


@dataclass(frozen=True, slots=True)
class Opaque(Node):
    """A message of Spark Connect that bayou does not understand; `what` says what it is."""

    what: str


Expression: TypeAlias = (
    Name
    | Literal
    | Parameter
    | Operation
    | Call
    | Window
    | Cast
    | Case
    | Lambda
    | Star
    | Subquery
    | Item
    | Field
    | VariantPath
    | Collate
    | Row
    | Named
    | ComputedName
    | Opaque
)


def children(node: Expression) -> tuple[Expression, ...]:  # noqa: PLR0911  (one return for each kind of node)
    """Return the direct parts of an expression."""
    match node:
        case Operation(_, operands):
            return operands
        case Call(_, arguments, _, clauses):
            return (*arguments, *clauses)
        case Window(call, definition):
            return (call, *definition)
        case Case(operand, branches, otherwise):
            given = [operand, *(part for branch in branches for part in branch), otherwise]
            return tuple(part for part in given if part is not None)
        case Lambda(_, body):
            return (body,)
        case Item(child, key):
            return (child, key)
        case Row(items):
            return items
        case Cast() | Field() | VariantPath() | Collate() | Named() | ComputedName():
            return (node.child,)
        case _:
            return ()


def all_nodes(root: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts, at any depth."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))
