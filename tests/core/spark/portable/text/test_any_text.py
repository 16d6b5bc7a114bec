# SPDX-License-Identifier: Apache-2.0
"""Whatever a text is, reading it works or raises UnreadableTextError, and needs no PySpark."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys

from tests.core.spark.portable.text.expression_texts import READABLE
from tests.core.spark.portable.text.query_texts import QUERIES
from tests.core.spark.portable.text.statement_texts import CHANGES

from bayou.protocol.types.schema import StructType
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import facts_of
from bayou.spark.portable.text.filters import Table, predicate_of
from bayou.spark.portable.text.queries import tables_in
from bayou.spark.portable.text.row_changes import row_change
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

_MODULES = ("expressions", "facts", "filters", "protobufs", "queries", "row_changes", "tokens")


def changed(chosen, texts, pool):
    """One of the texts with some words more, less or other."""
    found = [word.text for word in words(chosen.choice(texts))]
    for _ in range(chosen.randint(1, 3)):
        place = chosen.randint(0, len(found))
        found[place : place + chosen.randint(0, 1)] = [chosen.choice(pool)] * chosen.randint(0, 1)
    return " ".join(found)


def test_any_text_is_read_or_refused():
    chosen = random.Random(2)
    texts = [*READABLE, *QUERIES, *CHANGES]
    pool = [word.text for text in texts for word in words(text)]
    for _ in range(1_500):
        text = changed(chosen, texts, pool)
        for read in (tables_in, row_change):
            with contextlib.suppress(UnreadableTextError):
                read(text)
        with contextlib.suppress(UnreadableTextError):
            tree = read_expression(text)
            facts_of(tree, text)
            predicate_of(tree, Table(StructType()))


def test_no_module_loads_pyspark():
    names = ", ".join(f"bayou.spark.portable.text.{name}" for name in _MODULES)
    code = f"import sys, {names}; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
