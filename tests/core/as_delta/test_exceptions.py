# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions import captured
from tests.support.cases import in_one_test

from bayou import errors
from bayou.as_delta.delta import exceptions
from bayou.spark.errors.conversion import as_pyspark, raised_as_pyspark

LEAVES = sorted(set(exceptions.__all__) - {"DeltaConcurrentModificationException"})


@pytest.mark.parametrize("name", exceptions.__all__)
def test_each_class_is_a_pyspark_exception(name):
    assert issubclass(getattr(exceptions, name), PySparkException)


@pytest.mark.parametrize("name", LEAVES)
def test_what_bayou_raises_is_caught_by_its_name_and_by_the_general_one_and_by_no_other(name):
    @raised_as_pyspark
    def commit():
        raise getattr(errors, name)("another writer was faster", table="/t", version=3)

    with pytest.raises(getattr(exceptions, name)) as caught:
        commit()
    assert isinstance(caught.value, exceptions.DeltaConcurrentModificationException)
    assert isinstance(caught.value, getattr(errors, name))
    others = [getattr(exceptions, other) for other in LEAVES if other != name]
    assert not isinstance(caught.value, tuple(others))
    assert caught.value.version == 3


def test_a_general_conflict_is_no_special_one():
    general = as_pyspark(errors.ConcurrentModificationError("x"))
    assert isinstance(general, exceptions.DeltaConcurrentModificationException)
    assert not isinstance(general, tuple(getattr(exceptions, name) for name in LEAVES))
    assert not isinstance(as_pyspark(errors.TableNotFoundError("x")), exceptions.DeltaConcurrentModificationException)


@in_one_test("name", exceptions.__all__)
@in_one_test("given", [(), ("another writer",), ("another writer", "a trace", None)])
def test_a_program_makes_each_as_it_makes_pysparks(name, given):
    error = getattr(exceptions, name)(*given)
    assert str(error) == error.getMessage() == "".join(given[:1])
    assert (error.getErrorClass(), error.getCondition(), error.getSqlState()) == (None, None, None)
    assert isinstance(error, exceptions.DeltaConcurrentModificationException)
    assert repr(type(error)) == f"<class 'delta.exceptions.base.{name}'>"


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConcurrentAppendException("another writer"),
        as_pyspark(errors.ConcurrentAppendException("another writer", table="/t", version=3, files=["a"])),
        as_pyspark(errors.TableNotFoundError("no table", table="/t", next_step="look again")),
        as_pyspark(errors.ConstraintViolationError("rows", constraint="c", rows=[{"a": 1}])),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_reaches_another_process_as_it_was(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


CAPTURED = {
    errors.TableNotFoundError: captured.AnalysisException,
    errors.InvalidOptionError: captured.IllegalArgumentException,
    errors.SqlSyntaxError: captured.ParseException,
    errors.MultipleMatchesError: captured.UnsupportedOperationException,
}


@pytest.mark.parametrize("kind", CAPTURED)
def test_an_error_is_of_the_class_that_the_jvms_are_of_and_tells_the_same(kind):
    error = as_pyspark(kind("what happened", table="/t"))
    assert isinstance(error, CAPTURED[kind])
    assert isinstance(error, kind)
    assert (error.getMessage(), error.getQueryContext()) == (str(error), [])
    assert str(error).count("what happened") == 1
    assert str(error).count(error.getErrorClass() or "none") <= 1
