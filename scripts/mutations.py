# SPDX-License-Identifier: Apache-2.0
"""The small faults that `scripts/mutants.py` puts into a source file, one at a time: `<` becomes `<=`, `and` becomes `or`.

What mypy or the stored texts of errors would notice is left out: annotations, and the sentences that errors say.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
NEGATED_BY_SWAP = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Mutation(NamedTuple):
    """One fault: the bytes from `start` to `end` become `mutant`."""

    line: int
    last_line: int
    in_function: bool
    start: int
    end: int
    original: str
    mutant: str

    def applied(self, source: bytes) -> bytes:
        """The source file with this fault in it."""
        return source[: self.start] + self.mutant.encode() + source[self.end :]


def mutations(source: bytes) -> Iterator[Mutation]:
    """All mutations of a source file, in an order that only the file decides."""
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    for node, in_function in _mutable(ast.parse(source)):
        for place, mutant in _faults(node):
            start = offsets[place.lineno - 1] + place.col_offset
            end = offsets[place.end_lineno - 1] + place.end_col_offset
            yield Mutation(place.lineno, place.end_lineno, in_function, start, end, source[start:end].decode(), mutant)


def _mutable(node: ast.AST, *, in_function: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment"}:
            continue
        inside = in_function or (name == "body" and isinstance(node, (ast.FunctionDef, ast.Lambda)))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _says_nothing(child):
                yield child, inside
                yield from _mutable(child, in_function=inside)


def _says_nothing(node: ast.AST) -> bool:
    """Whether nothing that the node says decides what the program does."""
    match node:
        case ast.Expr(ast.Constant()) | ast.JoinedStr() | ast.If(ast.Name("TYPE_CHECKING")):
            return True  # a docstring, a text with values in it, imports for mypy
        case ast.AnnAssign(annotation=ast.Name("TypeAlias")) | ast.keyword("strict"):
            return True  # the length that zip checks is right
        case ast.Assign([ast.Name(name)]):
            return name.startswith("__")
    return False


def _faults(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The faults of one node: what is replaced, and by which text."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.BinOp() | ast.AugAssign():
            yield from ((node, changed) for changed in _other_operators(node))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value):
            yield from ((node, repr(other)) for other in _other_values(value))
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "return None"
        case ast.Expr(ast.Call()):
            yield node, "pass"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield from _swapped_branches(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from _swapped_branches(test)
        case ast.match_case(guard=ast.expr() as test):
            yield from _swapped_branches(test)


def _other_operators(node: ast.Compare | ast.BoolOp | ast.BinOp | ast.AugAssign) -> Iterator[str]:
    operators = node.ops if isinstance(node, ast.Compare) else [node.op]
    for index, operator in enumerate(operators):
        if type(operator) not in SWAPPED:
            continue
        changed = copy.deepcopy(node)
        if isinstance(changed, ast.Compare):
            changed.ops[index] = SWAPPED[type(operator)]()
        else:
            changed.op = SWAPPED[type(operator)]()
        # Parentheses, as the new operator may bind less tightly.
        yield ast.unparse(changed) if isinstance(changed, ast.AugAssign) else f"({ast.unparse(changed)})"


def _swapped_branches(test: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    if not _has_other_negation(test):
        yield test, f"(not ({ast.unparse(test)}))"


def _has_other_negation(test: ast.expr) -> bool:
    """Whether another fault already swaps the branches."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[op]):
            return isinstance(op, NEGATED_BY_SWAP)
    return False


def _other_values(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str) and " " not in value:
        yield value + "x"
