# SPDX-License-Identifier: Apache-2.0
"""The sources of bayou as trees, which several tests look through: parsed once in a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import bayou

SOURCE: Final = Path(bayou.__file__).parent
FILES: Final = tuple(sorted(SOURCE.rglob("*.py")))


@cache
def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(text_of(file))


@cache
def nodes_of(file: Path) -> list[ast.AST]:
    """Every node of a file."""
    return nodes_in(tree_of(file))


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """What `ast.walk` finds, in its order and in less time."""
    found = [tree]
    for node in found:  # it grows
        found.extend(children_of(node))
    return found


def children_of(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` finds, but for the marks that say whether a name is read or written."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found.extend(each for each in value if isinstance(each, ast.AST))
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            found.append(value)
    return found
