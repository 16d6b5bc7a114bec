# SPDX-License-Identifier: Apache-2.0
"""Read the clauses that several statements about tables share: names, types, properties and comments.

Source: Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.spark.portable.text.literals import string_of
from bayou.spark.portable.text.queries import Part, QueryReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from bayou.spark.portable.text.literals import Dialect
    from bayou.spark.portable.text.queries import TableReference

_RESERVED: Final = frozenset({"provider", "location", "owner", "external", "is_managed_location", "collation", "table_type"})
"""Properties that Spark sets by clauses of their own, and refuses in a list of properties."""
_UNITS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_NUMBERS: Final = frozenset({"INTEGER_VALUE", "DECIMAL_VALUE"})
_COMMENT: Final = "COMMENT"


class TableReader(QueryReader):
    """A cursor over a statement about a table."""

    def target(self) -> TableReference:
        """Read the name of the table, which has no version and no options."""
        found = self.table(may_call=False)
        if found is None or found.travel is not None or found.options is not None:
            self.fail("a table with a version or options")
        return found

    def type_text(self) -> str:
        """Read a data type, and return it as it is written."""
        start = self.position
        if not self.is_name() or self.said() == "IDENTIFIER":
            self.fail("a type is missing")
        kind = self.next_word().text.upper()
        if kind == "INTERVAL":
            if self.take_one(*_UNITS) and self.take("TO") and not self.take_one(*_UNITS):
                self.fail()
        elif self.next_is("<"):
            self._angles()
        elif kind in ("STRUCT", "ARRAY", "MAP") and not self.take("<>"):
            self.fail("a type without its parts")
        if self.next_is("("):
            self.skip_brackets()
        if self.take("COLLATE"):
            self.parts()
        return self.text[start : self.end_of_read]

    def comment(self) -> str | None:
        """Read `COMMENT 'text'` if it comes next."""
        return self.string() if self.take(_COMMENT) else None

    def properties(self, refused: frozenset[str] = _RESERVED) -> dict[str, str]:
        """Read `(key = value, ...)`. A key or a value that Spark refuses is not read."""
        self.expect("(")
        found: dict[str, str] = {}
        while not found or self.take(","):
            key = self.property_key()
            if key in found or key.lower() in refused:
                self.fail(f"the property {key}")
            if not self.take("="):
                self.take("==")
            found[key] = self._property_value()
        self.expect(")")
        return found

    def property_keys(self) -> tuple[str, ...]:
        """Read `(key, ...)`."""
        self.expect("(")
        found = [self.property_key()]
        while self.take(","):
            found.append(self.property_key())
        self.expect(")")
        if any(each.lower() in _RESERVED for each in found):
            self.fail("a reserved property")
        return tuple(found)

    def property_key(self) -> str:
        """Read the key of a property: a name or a string."""
        if self.is_string():
            return string_of(self.next_word(), self.dialect)
        return ".".join(self.parts())

    def column_paths(self) -> tuple[tuple[str, ...], ...]:
        """Read columns or nested fields in parentheses."""
        self.expect("(")
        found = [self.parts()]
        while self.take(","):
            found.append(self.parts())
        self.expect(")")
        return tuple(found)

    def in_brackets(self) -> Part:
        """Read what is in parentheses, without blanks at its ends."""
        start = self.words[self.at].end if self.next_is("(") else self.fail()
        text = self.skip_brackets()
        if not text:
            self.fail("nothing in parentheses")
        begin = self.text.index(text, start)
        return Part(text, begin, begin + len(text))

    def rest(self) -> Part:
        """Read the query at the end of the statement."""
        start = self.position
        if not self.begins_query() and not self.next_is("("):
            self.fail("a query is missing")
        self.query(frozenset())
        return self.part_of(start)

    def _property_value(self) -> str:
        if self.is_string():
            return string_of(self.next_word(), self.dialect)
        truth = self.take_one("TRUE", "FALSE")
        if truth is not None:
            return truth.lower()
        word = self.peek()
        if word is None or word.kind not in _NUMBERS:
            self.fail("the value of a property")
        return self.next_word().text

    def _angles(self) -> None:
        """Read from `<` to the `>` that closes it."""
        depth = 0
        while True:
            said = self.said()
            if said in ("(", "["):
                self.skip_brackets()
                continue
            if said in (")", "]", ";"):
                self.fail()
            self.next_word()
            depth += {"<": 1, ">": -1}.get(said, 0)
            if depth == 0:
                return


def options_of(table: TableReference, text: str, dialect: Dialect | None) -> dict[str, str]:
    """Return the options of a table with WITH (key = value, ...); none for a table without it.

    Args:
        text: what is in the parentheses, without parameters.

    Raises:
        InvalidOptionError: Spark refuses a key or a value.
    """
    if table.options is None:
        return {}
    reader = TableReader(f"({text}\n)", dialect)  # a comment may end the text
    try:
        options = reader.properties(frozenset())
        reader.end()
    except UnreadableTextError:  # the text may have secrets
        raise failed("DELTA_ILLEGAL_OPTION/with", name=table.path or ".".join(table.parts), option="WITH") from None
    return options
