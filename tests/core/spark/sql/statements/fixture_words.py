# SPDX-License-Identifier: Apache-2.0
"""A reader of a statement without Spark."""

from __future__ import annotations

from tests.support.spark_words import words

from bayou.spark.sql.statements.reader import Reader


def reader_of(text):
    """A reader of a text."""
    return Reader(text, words(text))
