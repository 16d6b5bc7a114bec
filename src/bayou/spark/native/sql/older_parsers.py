# SPDX-License-Identifier: Apache-2.0
"""Parse CREATE TABLE ... CLUSTER BY and INSERT ... REPLACE for Spark versions whose parsers do not support these clauses.

bayou cuts the clause out of the statement, lets Spark parse the rest, and adds the clause to the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.spark.jvm.catalyst import parsed_nodes
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.parser import are_parsed, parsed_statement, substituted, table_name, words_of
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.replacing_inserts import write_of
from bayou.spark.sql.statements.newer_clauses import ClusteredCreation, ReplacingStatement, without
from bayou.spark.sql.statements.reader import Reader

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application
    from bayou.spark.sql.statements.newer_clauses import Query
    from bayou.spark.text.words import Word

_DEFAULT_SOURCE = "spark.sql.sources.default"


class OlderParsers:
    """Creates plans for statements with newer clauses. Spark runs the plans later."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._knows_clustering = parsed_nodes.knows_clustering(jvm_of(application))
        self._knows_replacing = parsed_nodes.knows_replacing(jvm_of(application))

    def of_text(self, text: str) -> JavaObject | None:
        """Return the plan of a statement that Spark's parser refused.

        Return None if the statement has no such clause, or is not about a Delta table.
        """
        jvm = jvm_of(self._application)
        capitals = text.upper()
        may_cluster = not self._knows_clustering and "CLUSTER" in capitals
        may_replace = not self._knows_replacing and "REPLACE" in capitals and "INSERT" in capitals
        if not may_cluster and not may_replace:
            return None
        text = substituted(jvm, text)
        words = words_of(jvm, text)
        if may_cluster:
            creation = ClusteredCreation.read(_reader(text, words))
            if creation is not None:
                return self._creation(text, creation)
        insert = ReplacingStatement.read(_reader(text, words)) if may_replace else None
        return None if insert is None else self._insert(text, insert)

    def _creation(self, text: str, creation: ClusteredCreation) -> JavaObject | None:
        jvm, spark = jvm_of(self._application), active_session(jvm_of(self._application))
        session = java_session(spark)
        provider = creation.provider or spark.conf.get(_DEFAULT_SOURCE) or ""
        name = creation.table.name
        if provider.strip("`").lower() != "delta" or (name is not None and table_name(jvm, session, name) is None):
            return None
        plan = parsed_statement(session, without(text, [creation.place]))
        create = parsed_nodes.unwrapped(plan)
        partitioning = parsed_nodes.partitioning_of(jvm, create)
        if partitioning:
            raise failed(
                "SPECIFY_CLUSTER_BY_WITH_BUCKETING_IS_NOT_ALLOWED"
                if "bucket" in partitioning[0]
                else "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED",
                table=creation.table.text,
            )
        return parsed_nodes.rewrapped(jvm, plan, parsed_nodes.with_clustering(jvm, create, creation.columns))

    def _insert(self, text: str, statement: ReplacingStatement) -> JavaObject | None:
        jvm = jvm_of(self._application)
        session = java_session(active_session(jvm))
        name = statement.table.name
        if name is not None and table_name(jvm, session, name) is None:
            return None
        query = self._query(text, statement, session)
        start, end = statement.place
        condition = "" if statement.columns is not None else text[end : query.start].strip()
        cut = [statement.alias_place, (start, query.start if condition else end), query.alias_place]
        plan = parsed_statement(session, without(text, cut))
        insert = parsed_nodes.with_own_queries(jvm, parsed_nodes.unwrapped(plan))
        if query.alias is not None:
            insert = parsed_nodes.with_named_query(jvm, insert, _plain(query.alias))
        alias = None if statement.alias is None else _plain(statement.alias)
        columns = None if statement.columns is None else [_plain(each) for each in statement.columns]
        replacing = parsed_nodes.replacing_insert(jvm, insert, columns=columns, condition=condition, alias=alias)
        command = write_of(self._application, insert, replacing)
        return None if command is None else parsed_nodes.rewrapped(jvm, plan, command)

    def _query(self, text: str, statement: ReplacingStatement, session: JavaObject) -> Query:
        """Return the query of an INSERT.

        For REPLACE ON, try each possible query, and return the first for which Spark parses both the text before it as a condition
        and the rest as a query.
        """
        if statement.columns is not None:
            return statement.queries[0]
        end = statement.place[1]
        for each in statement.queries:
            query = text[each.start :] if each.alias is None else text[each.start : each.alias_place[0]]
            if are_parsed(session, text[end : each.start], query.rstrip().rstrip(";")):
                return each
        raise failed("PARSE_SYNTAX_ERROR/replace-on", table=statement.table.text)


def _reader(text: str, words: list[Word]) -> Reader:
    """Return a reader positioned after EXPLAIN and its mode."""
    reader = Reader(text, words)
    if reader.take("EXPLAIN"):
        reader.take_one("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
    return reader


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
