# SPDX-License-Identifier: Apache-2.0
"""Temporary views of DataFrames that hold replaced relations: they follow their tables.

The server keeps the plan that a view was created with, and so the versions of the tables in it. The client remembers what it
created the view of, and creates the view again before a request that names it, if a table has a new version.

What a view was created of may stand in a request instead of its name, if it means the same there: see `inlined`.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.requests.messages import replace_relations, texts_with_queries
from bayou.spark.portable.requests.views.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from google.protobuf.message import Message

_CHANGES_VIEWS = re.compile(r"\b(?:create|replace|drop|alter)\b.*\bview\b", re.IGNORECASE | re.DOTALL)
_CREATED = re.compile(r"\bview\s+(?:if\s+not\s+exists\s+)?((?:`(?:[^`]|``)+`|[\w.])+)", re.IGNORECASE)
_CACHES = re.compile(r"\s*(un)?cache\b", re.IGNORECASE)
_CHANGES_MEANINGS: Final = re.compile(
    r"(?:\s|\(|/\*.*?\*/|--[^\n]*\n)*"
    r"(?:(?:set|reset|use|execute|call|declare|add)\b|(?:\w+\s*:\s*)?begin\b|(?:create|drop|refresh)\b.*\bfunction)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements after which the same relation may mean something else: settings, variables, functions, and what runs any statement."""
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_GLOBAL = "global_temp"


@dataclass(slots=True)
class _View:
    """A view that follows its tables.

    Attributes:
        original: the command as the program made it.
        sent: the relation that the server has, in bytes.
        age: how often the meaning of relations may have changed before the server got it.
        is_plain: whether it has the same rows in each request.
        is_cached: whether the server may keep its rows.
    """

    original: proto.CreateDataFrameViewCommand
    sent: bytes
    age: tuple[int, int]
    is_plain: bool
    is_cached: bool = False


class FollowedViews:
    """The temporary views that one client created. Threads share it."""

    def __init__(self, settings_changes: Callable[[], int] = int) -> None:
        """Start without views.

        Args:
            settings_changes: returns how often the client has changed settings.
        """
        self._settings_changes = settings_changes
        self._statements = 0
        self._lock = threading.Lock()
        self._followed: dict[str, _View] = {}
        # The followed views that other views, made by SQL, mention.
        self._behind: dict[str, set[str]] = {}
        # Views that hold nothing to follow, or that cannot be followed.
        self._fixed: set[str] = set()

    def created(
        self, original: proto.CreateDataFrameViewCommand, sent: proto.CreateDataFrameViewCommand, *, replaced: bool
    ) -> None:
        """Take note of a view that the server created.

        A view over other views keeps their plans, as any view of Spark does. If this cannot be had from what is known of those
        views, the view stays at the versions that it was created with.

        Args:
            original: the command of the program.
            sent: what the server got.
            replaced: whether relations were replaced in it.
        """
        name = _key(original.name, is_global=original.is_global)
        kept = _copy(original)
        with self._lock:
            inlined = self._inline(kept)
            follows = bool(inlined) or replaced
            names_views = self._names_views(kept, name)
            self._followed.pop(name, None)
            self._behind.pop(name, None)
            self._fixed.discard(name)
            if follows and not names_views:
                kept.replace = True
                # The plans of views that it is of are as old as those views, or read what is cached.
                is_inlined = not kept.is_global and is_plain(kept.input) and all(map(self._is_current, inlined))
                self._followed[name] = _View(kept, _content(sent), self._age(), is_inlined)
            else:
                self._fixed.add(name)

    def forget(self, name: str, *, is_global: bool = False) -> None:
        """Take note that the server dropped a view."""
        key = _key(name, is_global=is_global)
        with self._lock:
            self._followed.pop(key, None)
            self._behind.pop(key, None)
            self._fixed.discard(key)

    def has(self, parts: Sequence[str]) -> bool:
        """Whether a name, given its parts, is that of a view that follows its tables."""
        own = [part.lower() for part in parts]
        return (len(own) == 1 or own[:-1] == [_GLOBAL]) and ".".join(own) in self._followed

    def are_named_in(self, text: str) -> bool:
        """Whether a text looks as if it named a view that follows its tables."""
        return bool(self._followed) and bool(_names_in(text, self._followed))

    def are_named_by(self, message: Message) -> bool:
        """Whether a message looks as if it named a view that follows its tables, in a relation or in a SQL text."""
        return bool(self._followed) and self._names(message, self._followed)

    def inlined(self, name: str, is_case_sensitive: Callable[[], bool]) -> proto.Relation | None:
        """Return what may stand in a request in place of a view; None if the server shall read the view.

        It means the same as the view if it consists of reads of Delta tables and of what always gives the same rows of them, and
        if neither settings nor functions have changed since the server analysed it. Cached rows are found by the view.

        Args:
            name: the name as the request has it.
            is_case_sensitive: asks the server whether another spelling is another view. It is called only for one.
        """
        view = self._followed.get(name.lower())
        if view is None or not self._is_current(view):
            return None
        if view.original.name not in (name, f"`{name.replace('`', '``')}`") and is_case_sensitive():
            return None
        relation = proto.Relation()
        relation.CopyFrom(view.original.input)
        return relation

    def _is_current(self, view: _View) -> bool:
        return view.is_plain and not view.is_cached and view.age == self._age()

    def note_statement(self, text: str) -> None:
        """Take note of a SQL statement that the server ran. It may have changed what relations mean, or cached a view."""
        if _CHANGES_MEANINGS.match(text):
            self.note_change()
        caching = _CACHES.match(text)
        if caching is not None:
            for name in _names_in(text, self._followed):
                self.note_cached(name, is_cached=not caching[1])

    def note_change(self) -> None:
        """Take note that the same relation may mean something else from now on."""
        with self._lock:
            self._statements += 1

    def note_cached(self, name: str, *, is_cached: bool = True) -> None:
        """Take note that the server may keep the rows of a view, or that it does no more."""
        view = self._followed.get(_key(name))
        if view is not None:
            view.is_cached = is_cached

    def note_cleared(self) -> None:
        """Take note that the server keeps no rows any more."""
        for view in list(self._followed.values()):
            view.is_cached = False

    def note_persisted(self, relation: proto.Relation) -> bool:
        """Take note that the server may keep rows, and return whether a view that follows its tables is named in their plan.

        Args:
            relation: the plan, as the program made it.
        """
        if not self._followed:
            return False
        top = relation
        while top.HasField("subquery_alias"):
            top = top.subquery_alias.input
        if top.HasField("read") and top.read.HasField("named_table"):
            self.note_cached(top.read.named_table.unparsed_identifier)
        return self.are_named_by(relation)

    def may_be_changed_by(self, text: str) -> bool:
        """Whether a SQL statement looks as if it replaced or dropped a view."""
        return bool(self._followed) and _CHANGES_VIEWS.search(text) is not None

    def changed_by(self, text: str) -> None:
        """Take note of a SQL statement that may have replaced or dropped views. What it changes is not created again.

        The server resolves the names in a view that SQL created whenever it reads the view. The views behind these names follow.
        """
        mentioned = set(self._mentioned(text))
        created = created_view(text) if mentioned else None
        changed = mentioned if created is None else {name for name in mentioned if name.rpartition(".")[2] == created}
        with self._lock:
            for name in changed:
                self._followed.pop(name, None)
                self._fixed.add(name)
            if created is not None:
                self._behind[created] = mentioned - changed

    def refresh(
        self,
        text: str,
        rewrite: Callable[[proto.CreateDataFrameViewCommand], object],
        create: Callable[[proto.CreateDataFrameViewCommand], object],
    ) -> None:
        """Create those views again that a name or a SQL text mentions and whose tables have a new version.

        Args:
            text: the name or the text.
            rewrite: replaces the relations in a command, in place.
            create: sends a rewritten command.
        """
        for name in self._mentioned(text) if self._followed else ():
            view = self._followed.get(name)
            if view is None:
                continue
            command = _copy(view.original)
            rewrite(command)
            content = _content(command)
            if content != view.sent:
                age = self._age()
                create(command)
                view.sent, view.age = content, age

    def _age(self) -> tuple[int, int]:
        return self._settings_changes(), self._statements

    def _mentioned(self, text: str) -> list[str]:
        with self._lock:
            found = set(_names_in(text, self._followed))
            for name in _names_in(text, self._behind):
                found |= self._behind[name] & self._followed.keys()
            return sorted(found)

    def _inline(self, command: proto.CreateDataFrameViewCommand) -> list[_View]:
        """Replace names of followed views by what they were created of, and return these views."""
        found: list[_View] = []

        def inline(relation: proto.Relation) -> bool:
            if relation.WhichOneof("rel_type") != "read" or not relation.read.HasField("named_table"):
                return False
            parts = _parts(relation.read.named_table.unparsed_identifier)
            view = self._followed.get(".".join(parts)) if len(parts) == 1 or parts[:-1] == [_GLOBAL] else None
            if view is None:
                return False
            common = relation.common
            relation.subquery_alias.alias = parts[-1]
            relation.subquery_alias.input.CopyFrom(view.original.input)
            relation.common.CopyFrom(common)
            found.append(view)
            return True

        replace_relations(command, inline)
        return found

    def _names_views(self, command: proto.CreateDataFrameViewCommand, own: str) -> bool:
        """Whether a command names views, so that it could mean something else when it is sent again."""
        return self._names(command, {own, *self._fixed, *self._followed})

    def _names(self, message: Message, views: Iterable[str]) -> bool:
        """Whether a message names views, in a relation or in a SQL text."""
        names = tuple(views)

        def is_view(relation: proto.Relation) -> bool:
            kind = relation.WhichOneof("rel_type")
            if kind == "sql":
                return bool(_names_in(relation.sql.query, names))
            named = kind == "read" and relation.read.HasField("named_table")
            return named and bool(_names_in(relation.read.named_table.unparsed_identifier, names))

        return any(_names_in(text, names) for text in texts_with_queries(message)) or replace_relations(message, is_view)


def created_view(text: str) -> str | None:
    """Return the own name of the view that a statement creates, in lower case and without quotes; None for other statements."""
    created = _CREATED.search(text) if re.search(r"\b(?:create|alter)\b", text, re.IGNORECASE) else None
    return None if created is None else _parts(created[1])[-1]


def _key(name: str, *, is_global: bool = False) -> str:
    """A view's own name, in lower case and without quotes. That of a global view begins with the database of global views."""
    part = _parts(name)[-1]
    return f"{_GLOBAL}.{part}" if is_global else part


def _parts(name: str) -> list[str]:
    """The parts of a name, in lower case and without quotes; the name itself if it has none."""
    parts = [quoted.replace("``", "`") if quoted else bare for quoted, bare in _PART.findall(name)]
    return [part.lower() for part in parts] or [name.lower()]


def _names_in(text: str, names: Iterable[str]) -> list[str]:
    """Those names whose last part is a word of a text. Some of them may stand for something else there."""
    lower = text.lower()
    own = [(name, name.removeprefix(f"{_GLOBAL}.")) for name in names]
    return [name for name, part in own if part in lower and re.search(rf"(?<!\w){re.escape(part)}(?!\w)", lower)]


def _content(command: proto.CreateDataFrameViewCommand) -> bytes:
    return bytes(command.input.SerializeToString(deterministic=True))


def _copy(command: proto.CreateDataFrameViewCommand) -> proto.CreateDataFrameViewCommand:
    copy = proto.CreateDataFrameViewCommand()
    copy.CopyFrom(command)
    return copy
