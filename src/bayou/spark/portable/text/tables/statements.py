# SPDX-License-Identifier: Apache-2.0
"""Read a statement that creates, alters or describes a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bayou.spark.portable.text.tables.alterations import Alter, AlterationReader, CommentOnColumn
from bayou.spark.portable.text.tables.creations import Create, CreateLike, CreationReader
from bayou.spark.portable.text.tables.descriptions import Description, DescriptionReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from bayou.spark.portable.text.literals import Dialect

TableStatement: TypeAlias = Create | CreateLike | Alter | CommentOnColumn | Description


def table_statement(text: str, dialect: Dialect | None = None) -> TableStatement | None:
    """Return the parts of a statement about a table; None for any other statement.

    Args:
        text: one statement without parameters, which a semicolon may end.
        dialect: the settings that decide what the text means; None for Spark's defaults.

    Raises:
        UnreadableTextError: the statement is invalid, or bayou cannot read it.
    """
    reader = _Reader(text, dialect)
    while reader.words and reader.words[-1].text == ";":
        reader.words.pop()
    try:
        found = reader.statement()
    except RecursionError:
        raise UnreadableTextError("a statement that is nested too deeply") from None
    return found


class _Reader(CreationReader, AlterationReader, DescriptionReader):
    """A cursor that reads any of these statements."""

    def statement(self) -> TableStatement | None:
        """Read the whole statement; None if it is another one."""
        for read in (self.creation, self.alteration, self.description):
            self.at = 0
            found: TableStatement | None = read()
            if found is not None:
                self.end()
                return found
        return None
