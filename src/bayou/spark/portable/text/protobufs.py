# SPDX-License-Identifier: Apache-2.0
"""Convert the expressions in the requests of a Spark Connect client to trees, the same as for SQL text.

Source: `spark/connect/expressions.proto`. Only the messages' own methods are used, so that any client's classes will do. A message
that is not known becomes `Opaque`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import (
    Call,
    Cast,
    Item,
    Lambda,
    Literal,
    Name,
    Named,
    Opaque,
    Operation,
    Star,
    Subquery,
    UnreadableTextError,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.portable.text.literals import Dialect
    from bayou.spark.portable.text.tree import Expression

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SAME: Final = (
    "=",
    "<=>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "||",
    "<<",
    ">>",
    ">>>",
    "like",
    "ilike",
    "rlike",
)
_PAIRS: Final = {"==": "=", "<>": "!=", **{name: name for name in _SAME}}
"""The functions of two arguments that are operators, in lower case, and the names of these in trees."""
_SINGLES: Final = {
    "not": "not",
    "!": "not",
    "isnull": "is null",
    "negative": "negative",
    "positive": "positive",
    "-": "negative",
    "+": "positive",
    "~": "~",
}
USERS: Final = "function of the user"
"""The second part of the name of a function that a message contains."""
_TRY: Final = 3
"""The number of TRY among the modes of a cast."""
_PLAIN: Final = frozenset({"boolean", "byte", "short", "integer", "long", "float", "double", "string"})
_SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def expression_of(message: Any, dialect: Dialect | None = None) -> Expression:
    """Return the tree of an `Expression` message. Its nodes have no places.

    Args:
        message: the message of any version of the client.
        dialect: the settings that decide what SQL text in the message means; None for Spark's defaults.

    Raises:
        UnreadableTextError: bayou cannot read a name or a SQL text in the message.
    """
    try:
        return _Messages(dialect).tree(message)
    except RecursionError:
        raise UnreadableTextError("an expression that is nested too deeply") from None


def attribute_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a column's name as DataFrames take it: dots separate parts, and any other sign needs no quotes.

    Raises:
        UnreadableTextError: a backtick is not closed, or is in the middle of a part.
    """
    parts, at = [], 0
    while True:
        if text.startswith("`", at):
            end = at + 1
            while (end := text.find("`", end)) >= 0 and text.startswith("``", end):
                end += 2
            if end < 0:
                raise UnreadableTextError("a name whose backtick is not closed", at)
            parts.append(text[at + 1 : end].replace("``", "`"))
            at = end + 1
        else:
            part = text[at:].partition(".")[0]
            if "`" in part:
                raise UnreadableTextError("a name with a backtick in it", at)
            parts.append(part)
            at += len(part)
        if not parts[-1]:
            raise UnreadableTextError("a name with an empty part", at)
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise UnreadableTextError("a name with signs behind a backtick", at)
        at += 1


class _Messages:
    def __init__(self, dialect: Dialect | None) -> None:
        self._dialect = dialect

    def tree(self, message: Any) -> Expression:
        """Return the tree of a message."""
        kind = message.WhichOneof("expr_type") or "nothing"
        convert = _KINDS.get(kind)
        return Opaque(kind) if convert is None else convert(self, getattr(message, kind))

    def _all(self, messages: Any) -> tuple[Expression, ...]:
        return tuple(map(self.tree, messages))

    def literal(self, literal: Any) -> Expression:
        """Convert a constant. Those of types that no statistics have become `Opaque`."""
        kind = literal.WhichOneof("literal_type")
        if kind == "null":
            return Literal(None, "void")
        value: Any = getattr(literal, kind) if kind else None
        if kind in _PLAIN:
            return Literal(value, kind)
        match kind:
            case "binary":
                return Literal(bytes(value), "binary")
            case "decimal":
                return _decimal(value)
            case "date" | "timestamp" | "timestamp_ntz":
                return _moment(kind, value)
            case _:
                return Opaque(f"literal of type {kind}")

    def attribute(self, attribute: Any) -> Expression:
        """Convert a column."""
        if getattr(attribute, "is_metadata_column", False):
            return Opaque("metadata column")
        frame = attribute.plan_id if attribute.HasField("plan_id") else None
        return Name(attribute_parts(attribute.unparsed_identifier), frame)

    def function(self, function: Any) -> Expression:
        """Convert an operator or a call."""
        name, arguments = function.function_name, self._all(function.arguments)
        operator = None if function.is_user_defined_function or function.is_distinct else _operation(name.lower(), arguments)
        return operator or Call((name,), arguments, function.is_distinct)

    def text(self, text: Any) -> Expression:
        """Read SQL text."""
        return read_expression(text.expression, self._dialect)

    def star(self, star: Any) -> Expression:
        """Convert a star."""
        target = star.unparsed_target
        return Star(attribute_parts(target.removesuffix("*").removesuffix(".")) if target.removesuffix("*") else ())

    def alias(self, alias: Any) -> Expression:
        """Convert an expression with names."""
        return Named(self.tree(alias.expr), tuple(alias.name))

    def cast(self, cast: Any) -> Expression:
        """Convert a cast."""
        target = cast.type_str if cast.WhichOneof("cast_to_type") == "type_str" else _type_text(cast.type)
        return Cast(self.tree(cast.expr), target, "try_cast" if getattr(cast, "eval_mode", 0) == _TRY else "cast")

    def sort_order(self, order: Any) -> Expression:
        """Convert what is sorted by, without the direction."""
        return self.tree(order.child)

    def function_without_name(self, function: Any) -> Expression:
        """Convert a lambda."""
        return Lambda(tuple(".".join(each.name_parts) for each in function.arguments), self.tree(function.function))

    def variable(self, variable: Any) -> Expression:
        """Convert a parameter of a lambda."""
        return Name(tuple(variable.name_parts))

    def window(self, window: Any) -> Expression:
        """Convert a call with OVER."""
        call = self.tree(window.window_function)
        definition = self._all(window.partition_spec) + tuple(self.tree(each.child) for each in window.order_spec)
        return Window(call, definition) if isinstance(call, Call) else Opaque("window")

    def item(self, item: Any) -> Expression:
        """Convert a field, or an element of an array or a map."""
        return Item(self.tree(item.child), self.tree(item.extraction))

    def named_call(self, call: Any) -> Expression:
        """Convert a call of a function whose name is text."""
        return Call(attribute_parts(call.function_name), self._all(call.arguments))

    def argument(self, argument: Any) -> Expression:
        """Convert an argument with a name."""
        return Named(self.tree(argument.value), (argument.key,), is_argument=True)

    def user_function(self, function: Any) -> Expression:
        """Convert a call of a function that the message contains. Its name is not that of a function of Spark."""
        if not function.deterministic:
            return Opaque("function that is not deterministic")
        return Call(
            (function.function_name or "lambda", USERS), self._all(function.arguments), getattr(function, "is_distinct", False)
        )

    def subquery(self, _subquery: Any) -> Expression:
        """Convert a subquery, which has no text."""
        return Subquery("")


def _operation(name: str, arguments: tuple[Expression, ...]) -> Expression | None:
    """Return the operator that a function's name means; None if it is a function."""
    count = len(arguments)
    if name in ("and", "or") and count > 1:
        # PySpark chains pairs, which are one conjunction.
        return Operation(name, tuple(part for each in arguments for part in _chained(name, each)))
    if (name == "in" and count > 1) or (name == "between" and count == len(("value", "low", "high"))):
        return Operation(name, arguments)
    names = {1: _SINGLES, 2: _PAIRS}.get(count, {})
    if name == "isnotnull" and count == 1:
        return Operation("not", (Operation("is null", arguments),))
    return Operation(names[name], arguments) if name in names else None


def _chained(name: str, argument: Expression) -> tuple[Expression, ...]:
    return argument.operands if isinstance(argument, Operation) and argument.operator == name else (argument,)


def _decimal(message: Any) -> Literal:
    value = Decimal(message.value)
    digits = value.as_tuple()
    scale = max(message.scale, -int(digits.exponent), 0)
    precision = max(message.precision, len(digits.digits), scale)  # the server also takes the larger ones
    return Literal(value, f"decimal({precision},{scale})")


def _moment(kind: str, value: int) -> Expression:
    """Return the constant of a date, given in days, or of a timestamp, given in microseconds since 1970."""
    try:
        if kind == "date":
            return Literal(date.fromordinal(_EPOCH.toordinal() + value), kind)
        found = _EPOCH + timedelta(microseconds=value)
    except (OverflowError, ValueError):
        return Opaque(f"{kind} that Python does not have")
    return Literal(found if kind == "timestamp" else found.replace(tzinfo=None), kind)


def _type_text(message: Any) -> str:
    """Return a type in SQL; for a type with parts of its own, only its name."""
    kind = str(message.WhichOneof("kind"))
    if kind == "decimal":
        return f"decimal({message.decimal.precision},{message.decimal.scale})"
    collation = getattr(message.string, "collation", "") if kind == "string" else ""  # from PySpark 4.0 on
    if collation not in ("", "UTF8_BINARY"):
        return f"string collate {collation}"
    return _SQL_NAMES.get(kind, kind)


_KINDS: Final[dict[str, Callable[[_Messages, Any], Expression]]] = {
    "literal": _Messages.literal,
    "unresolved_attribute": _Messages.attribute,
    "unresolved_function": _Messages.function,
    "expression_string": _Messages.text,
    "unresolved_star": _Messages.star,
    "alias": _Messages.alias,
    "cast": _Messages.cast,
    "sort_order": _Messages.sort_order,
    "lambda_function": _Messages.function_without_name,
    "unresolved_named_lambda_variable": _Messages.variable,
    "window": _Messages.window,
    "unresolved_extract_value": _Messages.item,
    "call_function": _Messages.named_call,
    "named_argument_expression": _Messages.argument,
    "subquery_expression": _Messages.subquery,
    "common_inline_user_defined_function": _Messages.user_function,
}
