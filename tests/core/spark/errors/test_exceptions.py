# SPDX-License-Identifier: Apache-2.0
"""Errors are also the PySpark exceptions that programs written for delta-spark catch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, UnsupportedOperationException

import bayou
from bayou import errors
from bayou.errors.catalogue import rows
from bayou.spark.errors.conversion import as_pyspark
from bayou.spark.errors.exceptions import _BY_EXCEPTION, PYSPARK_EXCEPTIONS

SOURCES = Path(bayou.__file__).parent
NAMES = SOURCES / "spark" / "errors" / "exceptions.py"
KINDS = (AnalysisException, IllegalArgumentException, UnsupportedOperationException)


def test_every_error_class_of_the_table_is_one_that_is_raised():
    text = "".join(file.read_text(encoding="utf-8") for file in SOURCES.rglob("*.py") if file != NAMES)
    made = [re.sub(r"\\{[^}]*\\}", r"[\\w.]*", re.escape(each)) for each in re.findall(r'f"(DELTA_[^"]*\{[^"]*)"', text)]
    in_catalogue = {row.error_class for row in rows().values()}
    unknown = [name for name in PYSPARK_EXCEPTIONS if f'"{name}"' not in text and name not in in_catalogue]
    assert [name for name in unknown if not any(re.fullmatch(shape, name) for shape in made)] == []


def test_no_error_class_is_two_exceptions():
    names = [name for names in _BY_EXCEPTION.values() for name in names.split()]
    assert len(names) == len(set(names)) == len(PYSPARK_EXCEPTIONS)


@pytest.mark.parametrize(
    ("cls", "error_class", "caught"),
    [
        (errors.InvalidOptionError, "DELTA_MERGE_MISSING_WHEN", AnalysisException),
        (errors.UnsupportedFeatureError, "DELTA_UNSUPPORTED_SUBQUERY", AnalysisException),
        (errors.ConstraintViolationError, "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", AnalysisException),
        (errors.VersionNotFoundError, "DELTA_CDC_START_VERSION_AFTER_LATEST", IllegalArgumentException),
        (errors.InvalidOptionError, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY", UnsupportedOperationException),
    ],
)
def test_the_error_class_says_which_exception_of_pyspark_it_is(cls, error_class, caught):
    made = as_pyspark(cls("what", table="/t", version=3, error_class=error_class))
    assert isinstance(made, cls)
    assert [each for each in KINDS if isinstance(made, each)] == [caught]
    assert (made.getErrorClass(), made.table, made.version) == (error_class, "/t", 3)
    assert as_pyspark(made) is made
    assert type(made) is type(as_pyspark(cls("again", error_class=error_class)))


def test_an_error_without_a_class_is_what_its_type_says():
    assert isinstance(as_pyspark(errors.InvalidOptionError("what")), IllegalArgumentException)
    assert not isinstance(as_pyspark(errors.InvalidOptionError("what")), AnalysisException)
