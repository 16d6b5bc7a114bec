# SPDX-License-Identifier: Apache-2.0
"""Make each error of bayou an instance of a PySpark exception as well, so that programs written for delta-spark catch it.

For each pair of a class of `bayou.errors` and the PySpark exception that delta-spark raises in that case, this module creates a
class that inherits from both.

For errors that Python raises while the JVM calls it, see `spark.native.errors.conversion`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException, PySparkTypeError
from pyspark.errors.exceptions import captured

from bayou import errors
from bayou.spark.errors.exceptions import PYSPARK_EXCEPTIONS
from bayou.spark.errors.failed_calls import explained_call, py4j_error
from bayou.spark.errors.parameters import parameters_of
from bayou.spark.program_calls import program_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")

_PARTNERS: dict[type[errors.DeltaError], type[PySparkException]] = {
    errors.ArgumentTypeError: PySparkTypeError,
    errors.InvalidOptionError: IllegalArgumentException,
    errors.DataFileNotFoundError: captured.SparkRuntimeException,
    errors.CastOverflowError: captured.ArithmeticException,
    errors.ConstraintViolationError: captured.SparkRuntimeException,
    errors.DeletionVectorError: captured.SparkRuntimeException,
    errors.SqlSyntaxError: captured.ParseException,
    errors.SessionError: PySparkException,
    errors.StorageError: PySparkException,
    errors.UnreadableDataFileError: PySparkException,
    errors.UnsupportedFeatureError: captured.UnsupportedOperationException,
    errors.MultipleMatchesError: captured.UnsupportedOperationException,
    errors.CorruptLogError: PySparkException,
    errors.ConcurrentModificationError: PySparkException,
    errors.DeltaError: AnalysisException,
}


_PAIRS: dict[tuple[type[errors.DeltaError], type[PySparkException], bool], type[errors.DeltaError]] = {}


class _AsPySpark:
    """PySpark's accessors, for errors without a Java exception, whose methods the accessors of `captured` would call."""

    def __init__(self, *arguments: Any) -> None:
        Exception.__init__(self, *arguments)  # type: ignore[arg-type]

    def getMessage(self) -> str:  # noqa: N802  (PySpark's name)
        """Return the whole text, which starts with the error class."""
        return str(self)

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802  (PySpark's name)
        """Return the facts by delta-spark's parameter names. Further facts are attributes."""
        return dict(self.__dict__.get("_messageParameters") or {})

    def getQueryContext(self) -> list[Any]:  # noqa: N802  (PySpark's name)
        """Return no context: the error is not about a position in a query."""
        return []

    def getBreakingChangeInfo(self) -> None:  # noqa: N802  (PySpark's name)
        """None."""
        return


def _is_unknown_to_pyspark(error: errors.DeltaError) -> bool:
    """Whether delta-spark's error with this error class reaches Python as a py4j exception, which PySpark does not convert."""
    error_class = error.error_class or ""
    converted = isinstance(error, errors.ConcurrentModificationError) or error_class in PYSPARK_EXCEPTIONS
    return error_class.startswith(("DELTA_", "FAILED_READ_FILE")) and not converted


def _partner(cls: type[errors.DeltaError]) -> type[PySparkException]:
    """Return the PySpark exception for an error type. It applies if the error class does not determine the exception."""
    return next(_PARTNERS[base] for base in cls.__mro__ if base in _PARTNERS)


def _paired(cls: type[errors.DeltaError], partner: type[PySparkException], *, unknown: bool = False) -> type[errors.DeltaError]:
    """Return the class that inherits from an error type and a PySpark exception, created at its first use.

    Args:
        unknown: whether it also inherits from the py4j exception.
    """
    # PySpark converts Java exceptions to the subclasses in `captured`, and programs may catch these.
    raised = getattr(captured, partner.__name__, partner)
    key = (cls, raised, unknown)
    if key not in _PAIRS:
        # A program that catches the pair of the general conflict catches the pairs of all conflicts.
        general = [pyspark_class(b) for b in cls.__bases__ if issubclass(b, errors.ConcurrentModificationError)]

        def init(self: errors.DeltaError, message: str | None = None, *_: Any, **facts: Any) -> None:
            """Accept the arguments with which programs construct PySpark's exceptions in tests."""
            self.error_class = None  # a program constructed the error for a test, so no error class applies
            cls.__init__(self, message or "", **facts)
            self.__dict__.update(_of_pyspark(self))

        def reduce(self: errors.DeltaError) -> tuple[Any, ...]:
            """Pickle the error so that the other process makes the same combined class."""
            return _unpickled, (*key, self.args, dict(self.__dict__))

        members = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__init__": init, "__reduce__": reduce}
        _PAIRS[key] = type(cls.__name__, (cls, *general, _AsPySpark, raised, *([py4j_error()] if unknown else [])), members)
    return _PAIRS[key]


def _of_pyspark(error: errors.DeltaError) -> dict[str, Any]:
    """Return the private attributes that PySpark's exceptions read, with the values of an error."""
    text = str(error)
    of_java = {"_desc": text, "_stackTrace": "", "_cause": None, "_origin": None}
    return {
        "_message": text,
        "_errorClass": error.error_class,
        "_contexts": [],
        "_messageParameters": parameters_of(error),
        **of_java,
    }


def pyspark_class(cls: type[errors.DeltaError]) -> type[errors.DeltaError]:
    """Return the subclass of an error type that is a PySpark exception too."""
    return _paired(cls, _partner(cls))


def as_pyspark(error: errors.DeltaError) -> errors.DeltaError:
    """Return the error as an instance of the PySpark exception that delta-spark raises.

    The error class determines the exception, or otherwise the type of the error. If PySpark has no exception for delta-spark's
    error, programs written for delta-spark catch py4j's exception. The result is then an instance of that one as well.
    """
    if isinstance(error, PySparkException):
        return error
    partner = PYSPARK_EXCEPTIONS.get(error.error_class or "") or _partner(type(error))
    paired = _paired(type(error), partner, unknown=_is_unknown_to_pyspark(error))
    converted = _made(paired, error.args, {**error.__dict__, **_of_pyspark(error)})
    converted.__cause__ = error.__cause__
    return converted


def _made(paired: type[errors.DeltaError], arguments: tuple[Any, ...], fields: Mapping[str, Any]) -> errors.DeltaError:
    error: errors.DeltaError = paired.__new__(paired)
    Exception.__init__(error, *arguments)
    error.__dict__.update(fields)
    return error


def _unpickled(
    cls: type[errors.DeltaError],
    partner: type[PySparkException],
    unknown: bool,  # noqa: FBT001  (as it is pickled)
    arguments: tuple[Any, ...],
    fields: Mapping[str, Any],
) -> errors.DeltaError:
    return _made(_paired(cls, partner, unknown=unknown), arguments, fields)


def raised_as_pyspark(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function of the Spark layer: convert its errors by `as_pyspark`, and explain calls that Spark lacks.

    A call of it is a call of the program: see `program_calls`.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            with program_call():
                return function(*arguments, **options)
        except errors.DeltaError as error:
            if isinstance(error, PySparkException):
                raise
            raise as_pyspark(error) from error.__cause__
        except Exception as error:
            explained = explained_call(error)
            if explained is None:
                raise
            raise as_pyspark(explained) from error

    return call
