# SPDX-License-Identifier: Apache-2.0
"""Replace the relations that `Answers` knows, in any message of one client."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.requests.aliases import Aliases, AliasPool
from bayou.spark.portable.requests.answers import WithMetadata
from bayou.spark.portable.requests.cached import CachedFrames
from bayou.spark.portable.requests.frames import relation_of
from bayou.spark.portable.requests.messages import expressions_with_queries, replace_placed
from bayou.spark.portable.requests.metadata import hide
from bayou.spark.portable.requests.sql_text import replace_references, set_apart
from bayou.spark.portable.requests.views.followed import FollowedViews
from bayou.spark.portable.requests.views.subqueries import SubqueryViews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.message import Message
    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.requests.answers import Answers
    from bayou.spark.portable.requests.messages import Place

_KIND: Final = "rel_type"
_DROPPED_VIEWS = ("drop_temp_view", "drop_global_temp_view", "drop_view")


class Relations:
    """The relations in the requests of one client. Threads share it.

    Attributes:
        answers: what decides about them.
        aliases: the names for rows in SQL texts.
        cached: the DataFrames that the program cached.
        views: the views that the program created.
    """

    def __init__(self, spark: SparkSession, answers: Answers) -> None:
        self.answers = answers
        self.aliases = AliasPool()
        self.cached = CachedFrames()
        self.views = FollowedViews()
        self._of_subqueries = SubqueryViews(spark)
        self._spark = spark
        self._of_thread = threading.local()

    @property
    def are_untouched(self) -> bool:
        """Whether the requests of this thread pass untouched."""
        return getattr(self._of_thread, "depth", 0) > 0

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Within it, the requests of this thread pass untouched."""
        self._of_thread.depth = getattr(self._of_thread, "depth", 0) + 1
        try:
            yield
        finally:
            self._of_thread.depth -= 1

    def replace_in(self, message: Message, aliases: Aliases) -> bool:
        """Replace relations in a message, in place.

        Args:
            message: any message of the protocol.
            aliases: the names of this request.

        Returns:
            Whether anything was replaced.

        Raises:
            Exception: what `Answers` raises.
        """
        has_changed = self._look_at_expressions(message)
        hiding: list[proto.Relation] = []
        replaced = replace_placed(message, lambda relation, place: self._replace(relation, place, aliases, hiding))
        for relation in hiding:
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
        kind = relation.WhichOneof(_KIND)
        if kind == "sql":
            return self._replace_in_text(relation, relation.sql, aliases)
        if kind == "with_relations" and relation.with_relations.root.WhichOneof(_KIND) == "sql":
            parts = relation.with_relations
            # First the rows that the program gave. What is added after them needs no replacement.
            of_program = [self.replace_in(each, aliases) for each in parts.references]
            return self._replace_in_text(relation, parts.root.sql, aliases) or any(of_program)
        return self.replace_in(relation, aliases)

    def _replace(self, relation: proto.Relation, place: Place | None, aliases: Aliases, hiding: list[proto.Relation]) -> bool:
        """Replace a relation if it is one of ours. Relations that must not have the column `_metadata` are added to `hiding`."""
        if self.cached.put(relation, aliases):
            return True
        kind = relation.WhichOneof(_KIND)
        if kind == "read":
            if relation.read.HasField("named_table"):
                self._refresh_views(relation.read.named_table.unparsed_identifier)

            def rows(read: proto.Read) -> DataFrame | None:
                answer = self.answers.read(read, place)
                if not isinstance(answer, WithMetadata):
                    return answer
                hiding.extend(() if answer.hidden_in is None else [answer.hidden_in])
                return answer.frame

            return self._put(relation, rows, relation.read)
        if kind == "sql" or (kind == "with_relations" and relation.with_relations.root.WhichOneof(_KIND) == "sql"):
            replaced = self.replace_in_statement(relation, aliases)
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

    def _replace_in_text(self, relation: proto.Relation, sql: proto.SQL, aliases: Aliases) -> bool:
        self._refresh_views(sql.query)
        with self.untouched():
            references = self.answers.references(sql)
            if references:
                replace_references(relation, references, aliases)
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

    def _refresh_views(self, text: str) -> None:
        self.views.refresh(text, self._rewrite_view, self._create_view)

    def _rewrite_view(self, view: proto.CreateDataFrameViewCommand) -> None:
        aliases = self.aliases.take()
        self.replace_in(view, aliases)
        self.aliases.give_back(aliases)

    def _create_view(self, view: proto.CreateDataFrameViewCommand) -> None:
        with self.untouched():
            self._spark.client.execute_command(proto.Command(create_dataframe_view=view))
