# SPDX-License-Identifier: Apache-2.0
"""Analyse SQL with Spark's own lexer and parser, so that the analysis matches what runs. Nothing is resolved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, ParseException

from bayou.errors import failed, redact_text
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.core.exceptions import thrown_by
from bayou.spark.jvm.relations.own_sql import parsed_plainly
from bayou.spark.text.parsed_expression import ParsedExpression
from bayou.spark.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_PARSER = "org.apache.spark.sql.catalyst.parser"
_PARAMETERS = f"{_PARSER}.ParameterHandler"
_VARIABLES = "org.apache.spark.sql.internal.VariableSubstitution"
_END = -1
_MOST_PARTS = 3
_SESSION_CATALOG = "spark_catalog"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
# The parser's nodes for operators, literals and parts of functions and columns. They compute values from one row only.
_HARMLESS = frozenset(
    re.findall(
        r"\w+",
        """
        Add Alias And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Collate Divide EqualNullSafe EqualTo GreaterThan
        GreaterThanOrEqual ILike In IntegralDivide IsNotNull IsNotUnknown IsNull IsUnknown LambdaFunction LessThan
        LessThanOrEqual Like LikeAll LikeAny Literal Multiply NamedArgumentExpression Not NotLikeAll NotLikeAny Or RLike
        Remainder SemiStructuredExtract ShiftLeft ShiftRight ShiftRightUnsigned StringLocate StringTrim StringTrimLeft
        StringTrimRight Subtract TimestampAdd TimestampDiff UnaryMinus UnaryPositive UnresolvedAttribute
        UnresolvedCollation UnresolvedExtractValue UnresolvedFunction UnresolvedNamedLambdaVariable
        """,
    )
)
_FORBIDDEN = {
    "ScalarSubquery": "a subquery",
    "Exists": "a subquery",
    "InSubquery": "a subquery",
    "ListQuery": "a subquery",
    "LateralSubquery": "a subquery",
    "WindowExpression": "a window",
    "UnresolvedWindowExpression": "a window",
    "UnresolvedStar": "a star",
    "UnresolvedRegex": "a pattern of columns",
    "UnresolvedTableValuedFunction": "a function that makes a table",
    "NamedParameter": "a parameter",
    "PosParameter": "a parameter",
    "VariableReference": "a variable",
    "ExpressionWithUnresolvedIdentifier": "a name that is computed (IDENTIFIER)",
}


def words(jvm: Jvm, text: str) -> Iterator[str]:
    """Yield the words of a statement from Spark's lexer, without blanks and comments, and with variables replaced."""
    text = substituted(jvm, text)
    stream = jvm.static(f"{_PARSER}.UpperCaseCharStream")(jvm.static("org.antlr.v4.runtime.CharStreams").fromString(text))
    lexer = jvm.static(f"{_PARSER}.SqlBaseLexer")(stream)
    lexer.removeErrorListeners()  # they print to the console
    while (token := lexer.nextToken()).getType() != _END:
        if token.getChannel() == 0:
            yield str(token.getText())


def substituted(jvm: Jvm, text: str) -> str:
    """Replace `${...}` in a statement by the values of the session's variables, like Spark's parser."""
    return str(jvm.static(_VARIABLES)().substitute(text)) if "${" in text else text


def words_of(jvm: Jvm, text: str) -> list[Word]:
    """Return the words of a statement from Spark's lexer, without blanks and comments."""
    parts = str(Adapters.of(jvm).static("bayou.Words").of(text)).split("\0")
    positions = zip(parts[0:-1:3], parts[1::3], parts[2::3], strict=True)
    return [Word(kind, text[int(start) : int(end)], int(start), int(end)) for kind, start, end in positions]


def takes_parameters(jvm: Jvm) -> bool:
    """Whether Spark passes the values of a statement's parameters to its parsers, as it does since 4.1."""
    return jvm.has_class(_PARAMETERS)


def parameter_literal(jvm: Jvm, context: JavaObject, name: str | None, number: int) -> str | None:
    """Return the value of a parameter as a literal, or None if it has no value.

    Spark substitutes values only in statements that its parser accepts, so each parameter is put into a query of its own.

    Args:
        context: the values, as Spark passes them to its parsers.
        name: the parameter's name; None for `?`.
    """
    values = jvm.module(_PARAMETERS)
    query = "SELECT "
    if name is not None:
        try:
            found = values.substituteParameters(f"{query}:{name}", context)
        except AnalysisException as error:
            if error_class_of(error) != "UNBOUND_SQL_PARAMETER":
                raise
            return None
    else:
        read = {"PositionalParameterContext": "params", "HybridParameterContext": "args"}.get(context.getClass().getSimpleName())
        positional = [] if read is None else jvm.list_of(getattr(context, read)())
        if number >= len(positional):
            return None
        found = values.substitutePositionalParameters(f"{query}?", jvm.seq([positional[number]]))
    return str(found._1()).removeprefix(query)  # noqa: SLF001  (Scala's)


def wrong_place(jvm: Jvm, session: JavaObject, text: str) -> int | None:
    """Return the position of the syntax error that Spark's parser finds, or None."""
    try:
        sparks_parser(jvm, session).parsePlan(text)
    except FAILED_CALL as error:
        thrown = thrown_by(error)
        if thrown is None or not str(thrown.getClass().getName()).endswith(".ParseException"):
            return None
        line, column = thrown.start().line(), thrown.start().startPosition()
        if line.isEmpty() or column.isEmpty():
            return None
        before = text.split("\n")[: int(line.get()) - 1]
        return sum(len(each) + 1 for each in before) + int(column.get())
    return None


def string_value(session: JavaObject, literal: str) -> str:
    """Return the value of a string literal, as Spark reads it."""
    return str(session.sessionState().sqlParser().parseExpression(literal).value())


def name_parts(jvm: Jvm, session: JavaObject, text: str) -> list[str]:
    """Return the parts of a name in SQL, without backticks."""
    return list(map(str, jvm.list_of(session.sessionState().sqlParser().parseMultipartIdentifier(text))))


def has_alias(session: JavaObject, text: str) -> bool:
    """Whether an expression in SQL ends with an alias."""
    return "Alias" in session.sessionState().sqlParser().parseExpression(text).getClass().getSimpleName()


def type_in_json(session: JavaObject, text: str) -> str:
    """Return JSON of a type in SQL."""
    as_json: str = session.sessionState().sqlParser().parseDataType(text).json()
    return as_json


def columns_in_json(session: JavaObject, text: str) -> str:
    """Return JSON of columns in SQL."""
    as_json: str = session.sessionState().sqlParser().parseTableSchema(text).json()
    return as_json


def statement_at(jvm: Jvm, origin: JavaObject) -> str:
    """Return the statement in which a node has its origin, as it is written, or an empty string."""
    return str(jvm.static("bayou.StatementText").of(origin))


def parsed_statement(session: JavaObject, text: str) -> JavaObject:
    """Parse a statement with the session's parser, in which bayou's comes before Spark's, or raise SqlSyntaxError."""
    try:
        return session.sessionState().sqlParser().parsePlan(text)
    except ParseException as error:
        what = re.sub(r"^\[[\w.]+\] ", "", reason_of(error))
        raise failed("PARSE_SYNTAX_ERROR/spark", reason=redact_text(what)) from None


def are_parsed(session: JavaObject, condition: str, query: str) -> bool:
    """Whether Spark's parser accepts the condition as an expression and the query as a query."""
    parser = session.sessionState().sqlParser()
    try:
        parser.parseExpression(condition)
        parser.parseQuery(query)
    except FAILED_CALL:
        return False
    return True


def sparks_parser(jvm: Jvm, session: JavaObject) -> JavaObject:
    """Return a session's parser without bayou's, which replaces some statements by commands."""
    return Adapters.of(jvm).static("bayou.Parser").behind(session.sessionState().sqlParser())


def knows_constraints(jvm: Jvm) -> bool:
    """Whether Spark's parser knows ADD CONSTRAINT and DROP CONSTRAINT, as it does since 4.1: what it then refuses is wrong."""
    return jvm.has_class("org.apache.spark.sql.catalyst.plans.logical.AddConstraint")


def table_name(jvm: Jvm, session: JavaObject, text: str) -> tuple[str, ...] | None:
    """Return the parts of a table's name in SQL, or None if it is not a name, or is in another catalog."""
    try:
        parts = jvm.list_of(session.sessionState().sqlParser().parseMultipartIdentifier(text))
    except FAILED_CALL:
        return None
    return _in_session_catalog(session, parts)


def full_name(session: JavaObject, parts: Sequence[object]) -> tuple[str, ...]:
    """Return the parts of a table's name with its catalog and database. Leave a path or a name in another catalog as it is."""
    name = _in_session_catalog(session, parts)
    if name is None or not name or name[0].lower() == "delta":
        return tuple(map(str, parts))
    return (_SESSION_CATALOG, *([] if len(name) > 1 else [str(session.catalog().currentDatabase())]), *name)


def _in_session_catalog(session: JavaObject, given: Iterable[object]) -> tuple[str, ...] | None:
    parts = tuple(map(str, given))
    if len(parts) == _MOST_PARTS and parts[0].lower() == _SESSION_CATALOG:
        return parts[1:]
    catalogs = session.sessionState().catalogManager()
    if len(parts) >= _MOST_PARTS or catalogs.currentCatalog().name() != _SESSION_CATALOG:
        return None
    # Spark first takes the first of two parts for a catalog, and then for a database.
    return None if len(parts) > 1 and is_catalog(session, parts[0]) else parts


def is_catalog(session: JavaObject, name: str) -> bool:
    """Whether a session knows a catalog of that name in addition to its own.

    Spark would look in the settings of the thread's active session, which may be another one.
    """
    catalogs = session.sessionState().catalogManager()
    return bool(session.conf().contains(f"spark.sql.catalog.{name}") or catalogs.isCatalogRegistered(name))


def described_column(jvm: Jvm, parsed: JavaObject) -> tuple[list[str], list[str]] | None:
    """Return the parts of the table's and the column's name in a parsed DescribeColumn, or None if one of them is computed."""
    relation, column = parsed.relation(), parsed.column()
    if not relation.nodeName().startswith("Unresolved") or column.nodeName() != "UnresolvedAttribute":
        return None
    names = jvm.list_of(relation.multipartIdentifier()), jvm.list_of(column.nameParts())
    return list(map(str, names[0])), list(map(str, names[1]))


def stated_table(node: JavaObject) -> str | None:
    """Return the name in SQL of the Delta table of an AddCheckConstraint or DropConstraint, or None for another table.

    AddCheckConstraint has a query for the rows that violate the condition. The optimizer may remove the table from it.
    """
    leaf = node.table() if node.nodeName() == "DropConstraint" else node.child().collectLeaves().head()
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation":
        leaf = leaf.relation()
    if leaf.getClass().getSimpleName() not in ("ResolvedTable", "DataSourceV2Relation"):
        return None
    table = leaf.table()
    return str(table.name()) if table.getClass().getName() == "bayou.StatedTable" else None


def added_check(node: JavaObject) -> tuple[str, str]:
    """Return the name and the condition of an AddCheckConstraint."""
    check = node.checkConstraint()
    return str(check.name()), str(check.condition())


def says_rely(node: JavaObject) -> bool:
    """Whether an AddCheckConstraint says RELY or NORELY."""
    return bool(node.checkConstraint().userProvidedCharacteristic().rely().isDefined())


def dropped_constraint(node: JavaObject) -> tuple[str, bool]:
    """Return the name of the constraint of a DropConstraint, and whether it says IF EXISTS."""
    return str(node.name()), bool(node.ifExists())


def written_table(jvm: Jvm, session: JavaObject, node: JavaObject) -> tuple[str, ...] | None:
    """Return the parts of the table's name in the SQL of an AddCheckConstraint, or None if unknown or in another catalog."""
    text = statement_at(jvm, node.origin())
    if not text:
        return None
    parsed = sparks_parser(jvm, session).parsePlan(text)
    return stated_name(jvm, session, parsed) if parsed.nodeName() == node.nodeName() else None


def stated_name(jvm: Jvm, session: JavaObject, parsed: JavaObject) -> tuple[str, ...] | None:
    """Return the parts of the table's name in a parsed AddCheckConstraint, or None if it is in another catalog."""
    parts = stated_parts(jvm, parsed)
    return None if parts is None else _in_session_catalog(session, parts)


def stated_parts(jvm: Jvm, parsed: JavaObject) -> list[str] | None:
    """Return the parts of the table's name in a parsed AddCheckConstraint, in any catalog, or None if it is not a plain name."""
    named = parsed.child().child()
    return [str(each) for each in jvm.list_of(named.multipartIdentifier())] if named.nodeName() == "UnresolvedRelation" else None


def parsed(jvm: Jvm, session: JavaObject, text: str) -> ParsedExpression:
    """Analyse an expression that a table stores or will store. Raise InvalidSchemaError if it is not a SQL expression."""
    try:
        root = parsed_plainly(jvm, session, text)
    except FAILED_CALL as error:
        reason = reason_of(error)
        raise failed("DELTA_SCHEMA_NOT_SET/stored-expression", expression=text, reason=reason) from None
    functions, columns, forbidden, has_lambda = set(), set(), [], False
    waiting: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, variables = waiting.pop()
        name = str(node.getClass().getSimpleName())
        if name in _FORBIDDEN or "Subquery" in name:
            forbidden.append(_FORBIDDEN.get(name, "a subquery"))
        elif name == "UnresolvedFunction":
            functions.add(".".join(jvm.list_of(node.nameParts())).lower().removeprefix("system.").removeprefix("builtin."))
        elif name == "UnresolvedAttribute":
            path = tuple(jvm.list_of(node.nameParts()))
            if path[0].lower() not in variables:
                columns.add(path)
        elif name not in _HARMLESS:
            if str(node.getClass().getName()).startswith(_EXPRESSIONS):
                functions.add(str(node.prettyName()).lower())  # a function for which the grammar has its own syntax
            else:
                forbidden.append(f"a {name}")
        if name == "LambdaFunction":
            has_lambda = True
            variables |= {str(jvm.list_of(function.nameParts())[0]).lower() for function in jvm.list_of(node.arguments())}
        waiting += [(child, variables) for child in jvm.list_of(node.children())]
    return ParsedExpression(text, frozenset(functions), frozenset(columns), tuple(dict.fromkeys(forbidden)), has_lambda)
