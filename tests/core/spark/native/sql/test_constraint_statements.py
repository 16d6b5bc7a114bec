# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE ... ADD and DROP CONSTRAINT, word by word."""

from __future__ import annotations

from tests.support.cases import in_one_test

from bayou.spark.native.sql.constraint_statements import ConstraintStatement

CHECK = ["c", "CHECK", "(", "a", ">", "0", ")"]
STATEMENTS = {
    "added": (["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", *CHECK], ("t", "c", "a > 0")),
    "in any case, ended": (["alter", "Table", "t", "add", "constraint", "c", "check", "(", "x", ")", ";", ";"], ("t", "c", "x")),
    "by path": (["ALTER", "TABLE", "delta", ".", "`/t`", "ADD", "CONSTRAINT", *CHECK], ("delta . `/t`", "c", "a > 0")),
    "of a table called add": (["ALTER", "TABLE", "add", "ADD", "CONSTRAINT", *CHECK], ("add", "c", "a > 0")),
    "with parentheses and texts": (
        ["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", "c", "CHECK", "(", "(", "a", ")", "=", "')'", ")"],
        ("t", "c", "( a ) = ')'"),
    ),
    "dropped": (["ALTER", "TABLE", "t", "DROP", "CONSTRAINT", "c"], ("t", "c")),
    "dropped, if there": (
        ["ALTER", "TABLE", "t", "DROP", "CONSTRAINT", "IF", "exists", "c"],
        ("t", "c", None, True),
    ),
    "another statement": (["SELECT", "constraint"], None),
    "another change": (["ALTER", "TABLE", "t", "ADD", "COLUMN", "constraint", "INT"], None),
    "without a table": (["ALTER", "TABLE", "ADD", "CONSTRAINT", *CHECK], None),
    "without a condition": (["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", "c", "CHECK", "(", ")"], None),
    "not closed": (["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", *CHECK[:-1]], None),
    "closed too soon": (["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", *CHECK, "OR", "(", "b", ")"], None),
    "a key": (["ALTER", "TABLE", "t", "ADD", "CONSTRAINT", "c", "PRIMARY", "KEY", "(", "a", ")"], None),
    "two names": (["ALTER", "TABLE", "t", "DROP", "CONSTRAINT", "c", "d"], None),
    "no words": ([], None),
}


@in_one_test("case", STATEMENTS)
def test_a_statement_is_what_its_words_say(case):
    words, expected = STATEMENTS[case]
    assert ConstraintStatement.read(iter(words)) == (expected and ConstraintStatement(*expected))


def test_no_more_words_are_read_of_another_statement_than_tell_it():
    words = iter(["INSERT", "INTO", "t", "VALUES"])
    assert ConstraintStatement.read(words) is None
    assert next(words) == "t"
