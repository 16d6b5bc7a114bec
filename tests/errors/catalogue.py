# SPDX-License-Identifier: Apache-2.0
"""The texts of errors as the sources have them: one file for each first-level folder of `bayou`, so that a rewording is one diff.

An entry has the class of the error, its error class, the function that has the text, the message with its placeholders, and the
next step. The texts that a message is put together from, and those of logs and commands, follow in a section of their own.

The order is that of the classes and functions, and within a function that of the source. It depends neither on the texts nor on
the files, so that an entry stays where it is when it is reworded or moved.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.sources import FILES, SOURCE, children_of, nodes_in, nodes_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OTHER = "other texts"
"""The heading of texts that no error is made with directly: parts of messages, log messages, help."""

_BASE = "DeltaError"
_NEXT = ("next_step", "step", "hint")
"""The parameters that take the next step."""
_PROSE = re.compile(r"(?<![\w'.])[a-z]{2,}('s)?,? [a-z]{2,}|[A-Z][a-z]+ [a-z]{2,}|\{\} [a-z]{2,}|[a-z]{2,} \{\}")
_NO_PROSE = re.compile(
    r"^\n|\w\[str|\b(cast|coalesce|concat|first|if|instr|last|max_by|struct)\(|\bas (\{\}|[a-z_]+$)"
    r"|\b(bigint|case when|desc|then)\b|\bis (not )?null\b|\{\} or \{\}|(or|in) \(\{|<=>"
    r"|^(select|values|struct)\b|^delta\.|[a-z]+=[a-z]+,"
)
"""What lists of names, types, SQL and patterns have."""
_CODE = frozenset(
    {"compile", "expr", "findall", "getResource", "match_substring_regex", "select", "selectExpr", "sql", "sub", "where"}
)
"""Calls whose texts are patterns, SQL or the like."""

_LEFT_OUT = ("testing/", "errors/catalogue/")
"""The beginnings of paths: of tests, and of the catalogue, which is read as it is."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Owner:
    """A function, a class or a module-level name with texts in it."""

    name: str
    node: ast.AST
    line: int
    assigned: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    used: dict[str, int] = field(default_factory=dict)


@dataclass
class Module:
    room: str
    tree: ast.Module
    constants: dict[str, ast.expr] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """What is defined or imported."""
    classes: list[ast.ClassDef] = field(default_factory=list)
    functions: list[tuple[FunctionNode, list[ast.Call]]] = field(default_factory=list)
    """The functions, with the calls in them."""


@dataclass(frozen=True)
class Maker:
    """A function that makes or raises an error from a text that it is given."""

    module: Module
    node: FunctionNode
    made: ast.Call


@dataclass(frozen=True, order=True)
class Entry:
    error: str
    error_class: str
    owner: str
    place: tuple[int, int]
    messages: tuple[str, ...]
    next_steps: tuple[str, ...]

    def __str__(self) -> str:
        head = " ".join(filter(None, [self.error, f"[{self.error_class}]" if self.error_class else "", f"in {self.owner}"]))
        lines = [*(f"    {each}" for each in self.messages), *(f"    Next: {each}" for each in self.next_steps)]
        return "\n".join([head, *lines, ""])


def last_name(node: ast.AST | None) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _parameters(node: FunctionNode) -> set[str]:
    return {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}


class _Plain(ast.NodeTransformer):
    """Takes f-strings out of an expression, which Python versions write differently."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return ast.Constant(template(node))


def placeholder(node: ast.expr) -> str:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return "{" + ast.unparse(_Plain().visit(copy)) + "}"


def template(node: ast.expr | None) -> str | None:
    """The text that an expression writes out, with placeholders; None where it writes none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (str(each.value) if isinstance(each, ast.Constant) else placeholder(each.value) for each in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [(template(each), each) for each in (node.left, node.right)]
        if any(text is not None for text, _ in sides):
            return "".join(placeholder(each) if text is None else text for text, each in sides)
    return None


def is_prose(text: str) -> bool:
    """Whether a text is English, and no name, path, SQL or pattern."""
    bare = re.sub(r"\{[^{}]*\}", "{}", text)
    return bool(_PROSE.search(bare)) and not _NO_PROSE.search(bare)


class Catalogue:
    """Reads the sources once, and finds the entries of every room."""

    def __init__(self) -> None:
        self.modules = list(_modules())
        self.errors = self._error_classes()
        self.makers: dict[str, list[Maker]] = defaultdict(list)
        self.entries: dict[str, dict[tuple[object, ...], Entry]] = defaultdict(dict)
        self._consumed: set[ast.AST] = set()
        self._held: dict[ast.AST, dict[str, str]] = {}
        self._find_makers()
        for module in self.modules:
            self._visit(module, module.tree, Owner("", module.tree, 0))
        for module in self.modules:
            self._others(module, module.tree, Owner("", module.tree, 0))

    def texts(self) -> dict[str, str]:
        """The content of each file, by its name."""
        return {f"{room}.txt": "\n".join(map(str, sorted(entries.values()))) for room, entries in sorted(self.entries.items())}

    def _error_classes(self) -> dict[str, str]:
        """The name of each exception with the error class that it has by itself."""
        found = {name: "" for name, each in vars(builtins).items() if isinstance(each, type) and issubclass(each, Exception)}
        found |= {"SystemExit": "", _BASE: ""}
        defined = [node for module in self.modules for node in module.classes]
        while True:
            new = [each for each in defined if each.name not in found and any(last_name(base) in found for base in each.bases)]
            if not new:
                return found
            for each in new:
                base = next(found[last_name(base)] for base in each.bases if last_name(base) in found)
                own = [s.value for s in each.body if isinstance(s, ast.Assign) and last_name(s.targets[0]) == "error_class"]
                found[each.name] = (template(own[0]) if own else base) or ""

    def _find_makers(self) -> None:
        """Functions that make errors, and in a second turn those that call them."""
        for _ in range(2):
            found = [
                Maker(module, node, call)
                for module in self.modules
                for node, calls in module.functions
                if not node.name.startswith("__")
                for call in calls
                if last_name(call.func) != node.name and self._makes(module, node, call)
            ]
            self.makers = defaultdict(list)
            for maker in found:
                self.makers[maker.node.name].append(maker)

    def _makes(self, module: Module, node: FunctionNode, call: ast.Call) -> bool:
        """Whether a call in a function makes an error that the function returns, or of something that it was given."""
        own = any(each.module is module for each in self.makers.get(last_name(call.func), []))
        if not own and not self._class_of(call, node):
            return False
        used = {each.id for each in nodes_in(call) if isinstance(each, ast.Name)}
        return self._is_factory(node) or not used.isdisjoint(_parameters(node))

    def _is_factory(self, node: FunctionNode) -> bool:
        """Whether a function returns an error, by its annotation."""
        return node.returns is not None and any(last_name(each) in self.errors for each in nodes_in(node.returns))

    def _class_of(self, call: ast.Call, node: ast.AST) -> str:
        """The class of the error that a call makes, also where a parameter or a variable holds the class."""
        name = last_name(call.func)
        if name in self.errors:
            return name
        if not isinstance(node, FunctionNode) or not isinstance(call.func, ast.Name):
            return ""
        if node not in self._held:
            held = [(each.arg, each.annotation) for each in nodes_in(node.args) if isinstance(each, ast.arg) and each.annotation]
            held += [(last_name(each.targets[0]), each.value) for each in nodes_in(node) if isinstance(each, ast.Assign)]
            known = [(key, last_name(part)) for key, value in held for part in nodes_in(value)]
            self._held[node] = {key: error for key, error in known if error in self.errors}
        return self._held[node].get(name, "")

    def _made(self, maker: Maker) -> str:
        """The class of what a maker makes, through the maker that it calls."""
        inner = next((each for each in self.makers.get(last_name(maker.made.func), []) if each.module is maker.module), None)
        return self._class_of(maker.made, maker.node) or ("" if inner is None else self._class_of(inner.made, inner.node))

    def _maker(self, module: Module, node: ast.Call) -> Maker | None:
        """The maker that a call is of: one of its own module, or an imported one, or a method; none where that is not clear."""
        name = last_name(node.func)
        given = {each.arg for each in node.keywords if each.arg}
        makers = [each for each in self.makers.get(name, []) if each.node.args.kwarg or given <= _parameters(each.node)]
        own = [each for each in makers if each.module is module]
        if own or (isinstance(node.func, ast.Name) and name not in module.names):
            return own[0] if own else None
        others = [each for each in makers if isinstance(node.func, ast.Name) or self._is_factory(each.node)]
        if len({self._made(each) for each in others}) != 1:
            return None
        # The first by what it makes and not by its file, which may move.
        return min(others, key=lambda each: ast.dump(each.made))

    def _visit(self, module: Module, node: ast.AST, owner: Owner) -> None:
        owner = _owner(node, owner)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and owner.name:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                _assign(owner, target, node.value)
        for child in children_of(node):
            self._visit(module, child, owner)
        if isinstance(node, ast.Call):
            self._call(module, node, owner)

    def _call(self, module: Module, node: ast.Call, owner: Owner) -> None:
        if error := self._class_of(node, owner.node):
            self._error(module, node, owner, error)
        elif (maker := self._maker(module, node)) is not None:
            self._through(module, node, owner, maker)

    def _error(self, module: Module, node: ast.Call, owner: Owner, error: str) -> None:
        """An error that is made here."""
        given = {each.arg: each.value for each in node.keywords}
        messages = self._alternatives(module, owner, node.args[0]) if node.args else []
        if not messages:
            return
        steps = self._alternatives(module, owner, given.get("next_step"))
        error_class = self._error_class(given.get("error_class")) or self.errors[error]
        self._add(module, node, owner, (error, error_class, messages, steps))

    def _through(self, module: Module, node: ast.Call, owner: Owner, maker: Maker) -> None:
        """An error that a function makes of the texts that it is given here."""
        names = [each.arg for each in maker.node.args.args if each.arg not in ("self", "cls")]
        given = [*zip(names, node.args, strict=False), *((each.arg or "", each.value) for each in node.keywords)]
        texts = [(name, text) for name, each in given for text in self._alternatives(module, owner, each, prose=True)]
        messages = [text for name, text in texts if name not in _NEXT]
        if not messages:
            return
        made = {each.arg: each.value for each in maker.made.keywords}
        inner = Owner(maker.node.name, maker.node, maker.node.lineno)
        steps = [text for name, text in texts if name in _NEXT] or self._alternatives(
            maker.module, inner, made.get("next_step"), prose=True
        )
        by_name = dict(given)
        error_class = self._error_class(by_name.get("error_class")) or self._error_class(made.get("error_class"))
        error = self._made(maker)
        self._add(module, node, owner, (error, error_class or self.errors.get(error, ""), messages, steps))

    def _add(self, module: Module, node: ast.expr, owner: Owner, found: tuple[str, str, Sequence[str], Sequence[str]]) -> None:
        error, error_class, messages, steps = found
        shown, following = ([each.replace("\n", "\\n") for each in dict.fromkeys(texts)] for texts in (messages, steps))
        place = (node.lineno - owner.line, node.col_offset)
        entry = Entry(error, error_class, owner.name, place, tuple(shown), tuple(following))
        self.entries[module.room].setdefault((error, error_class, owner.name, *shown, *following), entry)

    def _error_class(self, node: ast.expr | None) -> str:
        if isinstance(node, ast.IfExp):
            return " | ".join(filter(None, map(self._error_class, (node.body, node.orelse))))
        return template(node) or ""

    def _alternatives(
        self, module: Module, owner: Owner, node: ast.expr | None, *, prose: bool = False, names: frozenset[str] = frozenset()
    ) -> list[str]:
        """The texts that an argument can be, as far as the function or a module-level name says them."""
        parts = (node.body, node.orelse) if isinstance(node, ast.IfExp) else node.values if isinstance(node, ast.BoolOp) else ()
        if isinstance(node, ast.Name) and node.id not in names:
            names, parts = names | {node.id}, self._values(module, owner, node)
        text = template(node)
        if node is not None and text and (is_prose(text) or not prose):
            self._consumed.add(node)
            return [text]
        return [each for part in parts for each in self._alternatives(module, owner, part, prose=prose, names=names)]

    def _values(self, module: Module, owner: Owner, node: ast.Name) -> Sequence[ast.expr]:
        """What a name was assigned in the function, or in a module."""
        assigned = [each for each in owner.assigned.get(node.id, []) if each.lineno <= node.lineno]
        if assigned:
            # A name that is assigned and used several times in turn: each use is of what was assigned after the last one.
            new = [each for each in assigned if each.lineno > owner.used.get(node.id, 0)]
            owner.used[node.id] = node.lineno
            return new or assigned
        if node.id in module.constants:
            return [module.constants[node.id]]
        imported = (
            [each.constants[node.id] for each in self.modules if node.id in each.constants] if node.id in module.names else []
        )
        return imported if len(imported) == 1 else []

    def _others(self, module: Module, node: ast.AST, owner: Owner) -> None:
        """What no error is made with directly."""
        if node in self._consumed and not isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Call) and last_name(node.func) in _CODE:
            return
        if isinstance(node, ast.arg) or (isinstance(node, ast.AnnAssign) and node.value is None):
            return  # an annotation
        owner = _owner(node, owner)
        text = template(node) if isinstance(node, ast.expr) else None
        if text is not None and isinstance(node, ast.expr) and node not in self._consumed and is_prose(text):
            self._add(module, node, owner, (OTHER, "", [text], []))
        if isinstance(node, ast.JoinedStr):
            return  # the placeholders show what is in them
        if text is None:
            for child in children_of(node):
                self._others(module, child, owner)


def _owner(node: ast.AST, owner: Owner) -> Owner:
    if isinstance(node, FunctionNode | ast.ClassDef):
        return Owner(f"{owner.name}.{node.name}".lstrip("."), node, node.lineno)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not owner.name:
        return Owner(last_name(_target(node)), node, node.lineno)
    return owner


def _assign(owner: Owner, target: ast.expr, value: ast.expr | None) -> None:
    if isinstance(target, ast.Name) and value is not None:
        owner.assigned[target.id].append(value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        _assign(owner, target, value.body)
        _assign(owner, target, value.orelse)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each, part in zip(target.elts, value.elts, strict=False):
            _assign(owner, each, part)


def _modules() -> Iterator[Module]:
    for file in FILES:
        inner = file.relative_to(SOURCE)
        if inner.as_posix().startswith(_LEFT_OUT):
            continue
        module = Module(inner.parts[0] if len(inner.parts) > 1 else "top", tree_of(file))
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef):
                module.classes.append(node)
            elif isinstance(node, FunctionNode):
                module.functions.append((node, [each for each in nodes_in(node) if isinstance(each, ast.Call)]))
                module.names.add(node.name)
            elif isinstance(node, ast.ImportFrom):
                module.names.update(each.asname or each.name for each in node.names)
        for node in module.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                module.constants[last_name(_target(node))] = node.value
        yield module


def _target(node: ast.Assign | ast.AnnAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target
