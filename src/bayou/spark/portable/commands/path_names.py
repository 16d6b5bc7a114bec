# SPDX-License-Identifier: Apache-2.0
"""Let columns with the path of a table before their name, such as ``delta.`/a/path`.id``, mean the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql.connect import proto

from bayou.protocol.types.sql_text import column_sql, quoted_name
from bayou.spark.portable.names import path_alias
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.protobufs import attribute_parts
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import Name, UnreadableTextError, all_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.message import Message


_OF_TABLE: Final = 2
"""The number of the word with the path in a name."""


@dataclass
class PathNames:
    """Gives the rows of a table an alias, once an expression has a name that begins with the table's path.

    Attributes:
        path: the path, as the statement has it.
        used: whether an expression has such a name.
    """

    path: str
    settings: Mapping[str, str] = field(repr=False)
    used: bool = False

    @property
    def alias(self) -> tuple[str, ...]:
        """The alias of the rows; empty if no expression needs one."""
        return (path_alias(self.path),) if self.used else ()

    def sql(self, text: str) -> str:
        """Return an expression in SQL with the alias in the place of the path."""
        try:
            tree = read_expression(text, Dialect.of(self.settings))
        except UnreadableTextError:
            return text
        names = [each for each in all_nodes(tree) if isinstance(each, Name) and self._is_ours(each.parts)]
        for each in sorted(names, key=lambda name: -name.start):
            self.used = True
            end = each.start + words(text[each.start : each.end])[_OF_TABLE].end
            text = f"{text[: each.start]}{quoted_name(path_alias(self.path))}{text[end:]}"
        return text

    def parts(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the parts of a name with the alias in the place of the path."""
        if not self._is_ours(parts):
            return parts
        self.used = True
        return (path_alias(self.path), *parts[2:])

    def expression(self, given: proto.Expression) -> proto.Expression:
        """Return an expression of a request with the alias in the place of the path."""
        message = proto.Expression()
        message.CopyFrom(given)
        self._rename(message)
        return message

    def _rename(self, message: Message) -> None:
        if isinstance(message, proto.Expression.UnresolvedAttribute):
            message.unparsed_identifier = self._attribute(message.unparsed_identifier)
        elif isinstance(message, proto.Expression.ExpressionString):
            message.expression = self.sql(message.expression)
        else:
            for field, value in message.ListFields():
                if field.message_type is not None:
                    for each in [value] if hasattr(value, "ListFields") else list(value):
                        if hasattr(each, "ListFields"):
                            self._rename(each)

    def _attribute(self, text: str) -> str:
        try:
            parts = attribute_parts(text)
        except UnreadableTextError:
            return text
        return column_sql(self.parts(parts)) if self._is_ours(parts) else text

    def _is_ours(self, parts: tuple[str, ...]) -> bool:
        return len(parts) > 2 and parts[0].lower() == "delta" and parts[1] == self.path  # noqa: PLR2004  (two for the path)
