# SPDX-License-Identifier: Apache-2.0
"""Replace the relations that `Answers` knows, in any message of one client."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.names import name_parts
from bayou.spark.portable.requests.aliases import Aliases, AliasPool
from bayou.spark.portable.requests.answers import WithMetadata
from bayou.spark.portable.requests.cached import CachedFrames
from bayou.spark.portable.requests.frames import frame_of, relation_of
from bayou.spark.portable.requests.messages import expressions_with_queries, frames_in, frames_named_in, replace_placed
from bayou.spark.portable.requests.metadata import METADATA, hide
from bayou.spark.portable.requests.sql_text import rename, replace_references, set_apart
from bayou.spark.portable.requests.views.followed import FollowedViews
from bayou.spark.portable.requests.views.subqueries import SubqueryViews
from bayou.spark.portable.settings.known import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.message import Message
    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.requests.answers import Answers
    from bayou.spark.portable.requests.messages import Outside, Place

_KIND: Final = "rel_type"
_METADATA: Final = METADATA.encode()
_COMPARED: Final = "bayou_compared"
"""The beginning of the names in relations that are compared."""
_DROPPED_VIEWS = ("drop_temp_view", "drop_global_temp_view", "drop_view")


class Relations:
    """The relations in the requests of one client. Threads share it.

    Attributes:
        answers: what decides about them.
        aliases: the names for rows in SQL texts.
        cached: the DataFrames that the program cached.
        views: the views that the program created.
        spark: the client's session.
    """

    def __init__(self, spark: SparkSession, answers: Answers) -> None:
        self.answers = answers
        self.aliases = AliasPool()
        self.cached = CachedFrames()
        self.views = FollowedViews(lambda: settings_of(spark).changes)
        self._of_subqueries = SubqueryViews(spark)
        self.spark = spark
        self._of_thread = threading.local()

    @property
    def are_untouched(self) -> bool:
        """Whether the requests of this thread pass untouched."""
        return getattr(self._of_thread, "depth", 0) > 0

    def is_case_sensitive(self) -> bool:
        """Whether names that differ in case are different in the session, in one request."""
        return str(self.spark.conf.get("spark.sql.caseSensitive")).lower() == "true"

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Within it, the requests of this thread pass untouched."""
        self._of_thread.depth = getattr(self._of_thread, "depth", 0) + 1
        try:
            yield
        finally:
            self._of_thread.depth -= 1

    def replace_in(self, message: Message, aliases: Aliases, place: Place | Outside | None = None) -> bool:
        """Replace relations in a message, in place.

        Args:
            message: any message of the protocol.
            aliases: the names of this request.
            place: the place of the message, if it is a relation that stands in another query.

        Returns:
            Whether anything was replaced.

        Raises:
            Exception: what `Answers` raises.
        """
        has_changed = self._look_at_expressions(message)
        task = _Task(self, message, aliases)
        replaced = replace_placed(message, lambda relation, place: self._replace(relation, place, task), place)
        for relation in task.hiding:
            hide(relation)
        return replaced or has_changed

    def replace_in_statement(self, relation: proto.Relation, aliases: Aliases) -> bool:
        """Replace relations in what `spark.sql` sends at once: a SQL text, maybe with rows that the program gave it.

        Args:
            relation: the relation of the command, changed in place.
            aliases: the names of this request.

        Returns:
            Whether anything was replaced.
        """
        return self._replace_in_statement(relation, None, _Task(self, relation, aliases))

    def _replace_in_statement(self, relation: proto.Relation, place: Place | Outside | None, task: _Task) -> bool:
        kind = relation.WhichOneof(_KIND)
        if kind == "sql":
            return self._replace_in_text(relation, relation.sql, place, task)
        if kind == "with_relations" and relation.with_relations.root.WhichOneof(_KIND) == "sql":
            parts = relation.with_relations
            # First the rows that the program gave. What is added after them needs no replacement.
            of_program = [self.replace_in(each, task.aliases) for each in parts.references]
            return self._replace_in_text(relation, parts.root.sql, place, task) or any(of_program)
        return self.replace_in(relation, task.aliases)

    def _replace(self, relation: proto.Relation, place: Place | Outside | None, task: _Task) -> bool:
        """Replace a relation if it is one of ours."""
        if self.cached.put(relation, task.aliases):
            return True
        kind = relation.WhichOneof(_KIND)
        if kind == "read":
            if relation.read.HasField("named_table"):
                self._refresh_views(relation.read.named_table.unparsed_identifier)
                if place is not None and task.put_view(relation, place):
                    return True

            def rows(read: proto.Read) -> DataFrame | None:
                answer = self.answers.read(read, place)
                if not isinstance(answer, WithMetadata):
                    return answer
                task.hiding.extend(() if answer.hidden_in is None else [answer.hidden_in])
                return answer.frame

            return self._put(relation, rows, relation.read)
        if kind == "sql" or (kind == "with_relations" and relation.with_relations.root.WhichOneof(_KIND) == "sql"):
            replaced = self._replace_in_statement(relation, place, task)
            if replaced:
                set_apart(relation)
            return replaced
        if kind == "catalog":
            self._note_catalog(relation.catalog)
            frame = self.answers.catalog(relation.catalog)
            return frame is not None and self._put(relation, lambda _: frame, relation.catalog)
        return False

    def _put(self, relation: proto.Relation, question: Callable[[Any], DataFrame | None], asked: Message) -> bool:
        """Replace a relation by the answer to a question, if it has one."""
        with self.untouched():
            frame = question(asked)
            if frame is None:
                return False
            answer = relation_of(frame)
        common = proto.RelationCommon()
        common.CopyFrom(relation.common)
        relation.CopyFrom(answer)
        # Columns that were made of the program's DataFrame find it by the number in here.
        if common.HasField("plan_id"):
            relation.common.CopyFrom(common)
        return True

    def _replace_in_text(self, relation: proto.Relation, sql: proto.SQL, place: Place | Outside | None, task: _Task) -> bool:
        self._refresh_views(sql.query)
        with self.untouched():
            references = self.answers.references(sql, place, task)
            if references:
                replace_references(relation, references, task.aliases)
        return bool(references)

    def _look_at_expressions(self, message: Message) -> bool:
        """Replace tables in the subqueries of SQL expressions, in place, and create those views again that they name.

        Return whether anything was replaced.
        """
        replaced = False
        for expression in expressions_with_queries(message):
            self._refresh_views(expression.expression)
            with self.untouched():
                references = self.answers.references(self._of_subqueries.as_query(expression.expression))
                if references:
                    expression.expression = self._of_subqueries.replaced(expression.expression, references)
                    replaced = True
        return replaced

    def _note_catalog(self, request: proto.Catalog) -> None:
        kind = request.WhichOneof("cat_type")
        if kind in _DROPPED_VIEWS:
            self.views.forget(getattr(request, str(kind)).view_name, is_global=kind == "drop_global_temp_view")
        elif kind == "clear_cache":
            self.cached.clear()
            self.views.note_cleared()
        elif kind in ("cache_table", "uncache_table"):
            self.views.note_cached(getattr(request, str(kind)).table_name, is_cached=kind == "cache_table")
        elif kind in ("set_current_catalog", "set_current_database"):
            self.views.note_change()

    def _refresh_views(self, text: str) -> None:
        self.views.refresh(text, self._rewrite_view, self._create_view)

    def _rewrite_view(self, view: proto.CreateDataFrameViewCommand) -> None:
        aliases = self.aliases.take()
        self.replace_in(view, aliases)
        self.aliases.give_back(aliases)

    def _create_view(self, view: proto.CreateDataFrameViewCommand) -> None:
        with self.untouched():
            self.spark.client.execute_command(proto.Command(create_dataframe_view=view))


class _Task:
    """The replacements in one message.

    Attributes:
        aliases: the names of the request.
        hiding: the relations that must not have the column `_metadata`.
    """

    def __init__(self, relations: Relations, message: Message, aliases: Aliases) -> None:
        self.aliases = aliases
        self.hiding: list[proto.Relation] = []
        self._relations = relations
        # What replaces a relation has metadata and numbers of its own.
        self._names_metadata, self._frames = False, set[int]()
        if relations.views.are_named_by(message):
            self._names_metadata = _METADATA in message.SerializeToString().lower()
            self._frames = frames_named_in(message)

    def are_named_in(self, text: str) -> bool:
        """Whether a text looks as if it named a view."""
        return self._relations.views.are_named_in(text)

    def rows(self, name: str, place: Outside) -> DataFrame | None:
        """Return the rows of a view: see `requests.answers.Views`."""
        found = self._view(name, place)
        return None if found is None else frame_of(self._relations.spark, found)

    def put_view(self, relation: proto.Relation, place: Place | Outside) -> bool:
        """Replace the name of a view by what the view is of, if a part of its files is enough."""
        read = relation.read
        parts = name_parts(read.named_table.unparsed_identifier) or ()
        if len(parts) != 1 or read.is_streaming or read.named_table.options:
            return False
        found = self._view(parts[0], place, relation.common)
        if found is not None:
            relation.CopyFrom(found)
        return found is not None

    def _view(self, name: str, place: Place | Outside, common: proto.RelationCommon | None = None) -> proto.Relation | None:
        """Return the rows of a view at a place; None if all its files are needed, or if the server shall read it.

        Args:
            common: what the relation has that names the view; None for a name in a SQL text, which needs no alias.
        """
        original = None if self._names_metadata else self._relations.views.inlined(name, self._relations.is_case_sensitive)
        # A column of the request that was taken from a DataFrame in the view might become ambiguous.
        if original is None or self._frames & frames_in(original):
            return None
        if common is not None:
            inner = original
            original = proto.Relation(common=common)
            original.subquery_alias.alias = name
            original.subquery_alias.input.CopyFrom(inner)
        whole = proto.Relation()
        whole.CopyFrom(original)
        names = Aliases(0, _COMPARED)
        self._relations.replace_in(whole, Aliases(0, _COMPARED))
        self._relations.replace_in(original, names, place)
        if whole == original:
            return None
        rename(original, {each: self.aliases.another() for each in names.names})
        return original
