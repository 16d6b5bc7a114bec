# SPDX-License-Identifier: Apache-2.0
"""SQL taken apart by Spark's own lexer and parser, so that what is looked at is what would run; nothing is resolved for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, ParseException

from bayou.errors import InvalidSchemaError, SqlSyntaxError
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.callbacks import FAILED_CALL, error_class_of, reason_of
from bayou.spark.jvm.relations.own_sql import parsed_plainly
from bayou.spark.jvm.relations.words import Word

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
# What the parser makes of operators, of literals and of what stands around functions and columns: nothing but a row's values.
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


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """What an expression is made of.

    Attributes:
        text: the expression.
        functions: the names of the functions it calls, in lower case.
        columns: the columns it uses, by the names that lead to each.
        forbidden: what it has that no stored expression may have.
        has_lambda: whether it has a function without a name, as `x -> x + 1`.
    """

    text: str
    functions: frozenset[str]
    columns: frozenset[tuple[str, ...]]
    forbidden: tuple[str, ...]
    has_lambda: bool = False


def words(jvm: Jvm, text: str) -> Iterator[str]:
    """The words of a statement one by one, as Spark's lexer finds them, its variables replaced; blanks and comments are none."""
    text = substituted(jvm, text)
    stream = jvm.static(f"{_PARSER}.UpperCaseCharStream")(jvm.static("org.antlr.v4.runtime.CharStreams").fromString(text))
    lexer = jvm.static(f"{_PARSER}.SqlBaseLexer")(stream)
    lexer.removeErrorListeners()  # they write to the console
    while (found := lexer.nextToken()).getType() != _END:
        if found.getChannel() == 0:
            yield str(found.getText())


def substituted(jvm: Jvm, text: str) -> str:
    """A statement with the values of the session's variables in the place of `${...}`, as Spark's parser has it."""
    return str(jvm.static(_VARIABLES)().substitute(text)) if "${" in text else text


def words_of(jvm: Jvm, text: str) -> list[Word]:
    """The words of a statement, as Spark's lexer finds them, without blanks and comments.

    Raises:
        SessionError: this JVM cannot compile the adapters.
    """
    parts = str(Adapters.of(jvm).static("bayou.Words").of(text)).split("\0")
    found = zip(parts[0:-1:3], parts[1::3], parts[2::3], strict=True)
    return [Word(kind, text[int(start) : int(end)], int(start), int(end)) for kind, start, end in found]


def takes_parameters(jvm: Jvm) -> bool:
    """Whether Spark gives its parsers the values of a statement's parameters, as from 4.1 on."""
    return jvm.has_class(_PARAMETERS)


def parameter_literal(jvm: Jvm, context: JavaObject, name: str | None, number: int) -> str | None:
    """The value of a parameter as a literal; None if it has no value.

    Spark puts values into statements that its parser takes, so each of them is put into a query of its own.

    Args:
        context: the values, as Spark gives them to its parsers.
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
        given = [] if read is None else jvm.list_of(getattr(context, read)())
        if number >= len(given):
            return None
        found = values.substitutePositionalParameters(f"{query}?", jvm.seq([given[number]]))
    return str(found._1()).removeprefix(query)  # noqa: SLF001  (Scala's)


def wrong_place(jvm: Jvm, session: JavaObject, text: str) -> int | None:
    """Where in a text Spark's parser finds it wrong; None if it does not."""
    try:
        sparks_parser(jvm, session).parsePlan(text)
    except FAILED_CALL as error:
        thrown = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        if thrown is None or not str(thrown.getClass().getName()).endswith(".ParseException"):
            return None
        line, column = thrown.start().line(), thrown.start().startPosition()
        if line.isEmpty() or column.isEmpty():
            return None
        before = text.split("\n")[: int(line.get()) - 1]
        return sum(len(each) + 1 for each in before) + int(column.get())
    return None


def string_value(session: JavaObject, literal: str) -> str:
    """What a string literal means, as Spark reads it."""
    return str(session.sessionState().sqlParser().parseExpression(literal).value())


def parsed_statement(session: JavaObject, text: str) -> JavaObject:
    """A statement as the session's parser has it, with bayou's before Spark's.

    Raises:
        SqlSyntaxError: it is wrong.
    """
    try:
        return session.sessionState().sqlParser().parsePlan(text)
    except ParseException as error:
        what = re.sub(r"^\[[\w.]+\] ", "", reason_of(error))
        raise SqlSyntaxError(what, next_step="Correct the statement; docs/sql.md has its clauses.") from None


def are_parsed(session: JavaObject, condition: str, query: str) -> bool:
    """Whether Spark's parser takes a text for an expression, and another one for a query."""
    parser = session.sessionState().sqlParser()
    try:
        parser.parseExpression(condition)
        parser.parseQuery(query)
    except FAILED_CALL:
        return False
    return True


def sparks_parser(jvm: Jvm, session: JavaObject) -> JavaObject:
    """A session's parser without bayou's before it, which makes commands of some statements."""
    return Adapters.of(jvm).static("bayou.Parser").behind(session.sessionState().sqlParser())


def knows_constraints(jvm: Jvm) -> bool:
    """Whether Spark's parser knows ADD CONSTRAINT and DROP CONSTRAINT, as from 4.1 on: what it refuses then is wrong."""
    return jvm.has_class("org.apache.spark.sql.catalyst.plans.logical.AddConstraint")


def table_name(jvm: Jvm, session: JavaObject, text: str) -> tuple[str, ...] | None:
    """The parts of a table's name as SQL has it; None where it is none, or the name of a table in another catalog."""
    try:
        parts = jvm.list_of(session.sessionState().sqlParser().parseMultipartIdentifier(text))
    except FAILED_CALL:
        return None
    return _in_session_catalog(session, parts)


def full_name(session: JavaObject, parts: Sequence[object]) -> tuple[str, ...]:
    """The parts of a table's name with those of its database and the session's catalog, where it is in that and no path."""
    found = _in_session_catalog(session, parts)
    if found is None or not found or found[0].lower() == "delta":
        return tuple(map(str, parts))
    return (_SESSION_CATALOG, *([] if len(found) > 1 else [str(session.catalog().currentDatabase())]), *found)


def _in_session_catalog(session: JavaObject, given: Iterable[object]) -> tuple[str, ...] | None:
    parts = tuple(map(str, given))
    if len(parts) == _MOST_PARTS and parts[0].lower() == _SESSION_CATALOG:
        return parts[1:]
    catalogs = session.sessionState().catalogManager()
    if len(parts) >= _MOST_PARTS or catalogs.currentCatalog().name() != _SESSION_CATALOG:
        return None
    # Spark takes the first of two parts for a catalog before it takes it for a database.
    return None if len(parts) > 1 and is_catalog(session, parts[0]) else parts


def is_catalog(session: JavaObject, name: str) -> bool:
    """Whether a session knows a catalog of that name beside its own.

    Spark looks for one in the settings of the session that is active on the thread, which may be another.
    """
    catalogs = session.sessionState().catalogManager()
    return bool(session.conf().contains(f"spark.sql.catalog.{name}") or catalogs.isCatalogRegistered(name))


def described_column(jvm: Jvm, parsed: JavaObject) -> tuple[list[str], list[str]] | None:
    """The parts of the table's and of the column's name in a parsed DescribeColumn; None if one of them is computed."""
    relation, column = parsed.relation(), parsed.column()
    if not relation.nodeName().startswith("Unresolved") or column.nodeName() != "UnresolvedAttribute":
        return None
    names = jvm.list_of(relation.multipartIdentifier()), jvm.list_of(column.nameParts())
    return list(map(str, names[0])), list(map(str, names[1]))


def stated_table(node: JavaObject) -> str | None:
    """The name, as SQL has it, of the table of ours that an AddCheckConstraint or a DropConstraint is about; None for another.

    The first has a query for the rows that break the condition. The optimizer may leave nothing of it that names the table.
    """
    leaf = node.table() if node.nodeName() == "DropConstraint" else node.child().collectLeaves().head()
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation":
        leaf = leaf.relation()
    if leaf.getClass().getSimpleName() not in ("ResolvedTable", "DataSourceV2Relation"):
        return None
    table = leaf.table()
    return str(table.name()) if table.getClass().getName() == "bayou.StatedTable" else None


def written_table(jvm: Jvm, session: JavaObject, node: JavaObject) -> tuple[str, ...] | None:
    """The parts of the table's name in the text of an AddCheckConstraint; None where it is not there, or of another catalog."""
    text = jvm.static("bayou.StatementText").of(node.origin())
    if not text:
        return None
    parsed = sparks_parser(jvm, session).parsePlan(text)
    return stated_name(jvm, session, parsed) if parsed.nodeName() == node.nodeName() else None


def stated_name(jvm: Jvm, session: JavaObject, parsed: JavaObject) -> tuple[str, ...] | None:
    """The parts of the table's name in a parsed AddCheckConstraint; None where it is of another catalog."""
    parts = stated_parts(jvm, parsed)
    return None if parts is None else _in_session_catalog(session, parts)


def stated_parts(jvm: Jvm, parsed: JavaObject) -> list[str] | None:
    """The parts of the table's name in a parsed AddCheckConstraint, whatever catalog they are of; None for no plain name."""
    named = parsed.child().child()
    return [str(each) for each in jvm.list_of(named.multipartIdentifier())] if named.nodeName() == "UnresolvedRelation" else None


def parsed(jvm: Jvm, session: JavaObject, text: str) -> ParsedExpression:
    """An expression that a table stores, or is about to store, taken apart.

    Raises:
        InvalidSchemaError: it is no SQL expression.
    """
    try:
        root = parsed_plainly(jvm, session, text)
    except FAILED_CALL as error:
        reason = reason_of(error)
        message = f"The expression {text!r} in the table's metadata is no SQL expression: {reason}"
        raise InvalidSchemaError(message, next_step="Correct it with the engine that stored it.") from None
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
                functions.add(str(node.prettyName()).lower())  # a function that the grammar knows by words of its own
            else:
                forbidden.append(f"a {name}")
        if name == "LambdaFunction":
            has_lambda = True
            variables |= {str(jvm.list_of(each.nameParts())[0]).lower() for each in jvm.list_of(node.arguments())}
        waiting += [(child, variables) for child in jvm.list_of(node.children())]
    return ParsedExpression(text, frozenset(functions), frozenset(columns), tuple(dict.fromkeys(forbidden)), has_lambda)
