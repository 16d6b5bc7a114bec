# SPDX-License-Identifier: Apache-2.0
"""Check and convert the arguments of a table function such as `table_changes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed, redact_text
from bayou.protocol.types.instants import format_timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence


COUNTS: Final = {
    "table_changes": (2, 3),
    "table_changes_by_path": (2, 3),
    "table_history": (1, 2),
    "table_detail": (1, 1),
    "table_files": (1, 1),
}
"""The minimum and maximum number of arguments of each function."""
_VERSIONS: Final = ("byte", "short", "integer", "long")
_TIMES: Final = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True, slots=True)
class Argument:
    """An evaluated argument.

    Attributes:
        type: Spark's name of its type; `void` for NULL, `?` for an expression that is not a constant.
        text: its value as a string. A timestamp is in microseconds and a date in days since the epoch. If the argument is not a
            constant, the expression.
    """

    type: str
    text: str

    @property
    def is_null(self) -> bool:
        """Whether it is NULL."""
        return self.type == "void"

    @property
    def is_string(self) -> bool:
        """Whether it is a string of any collation."""
        return self.type.split(" ")[0] in ("string", "char", "varchar")

    def check_is_constant(self, function: str, name: str) -> None:
        """Raise InvalidOptionError if the argument is not a constant."""
        if self.type != "?":
            return
        is_of_delta = function.startswith("table_changes")  # the functions that delta-spark has, with its error class
        raise failed(
            "DELTA_CDC_NON_CONSTANT_ARGUMENT",
            error_class="DELTA_CDC_NON_CONSTANT_ARGUMENT" if is_of_delta else "NON_FOLDABLE_ARGUMENT",
            option=function,
            argument=redact_text(self.text),
            name=name,
        )

    def string(self, function: str, name: str) -> str:
        """Return the value. Raise InvalidOptionError if it is not a constant string."""
        self.check_is_constant(function, name)
        if not self.is_string:
            raise self.wrong_type(name, ["StringType literal"])
        return self.text

    def integer(self, function: str, name: str) -> int | None:
        """Return the value. Raise InvalidOptionError if it is not a constant integer or NULL."""
        self.check_is_constant(function, name)
        if self.is_null:
            return None
        if self.type not in ("byte", "short", "integer", "long"):
            raise self.wrong_type(name, ["IntegerType", "LongType"])
        return int(self.text)

    def wrong_type(self, name: str, supported: Sequence[str]) -> DeltaError:
        """Return the error for an argument of another type."""
        return failed("DELTA_UNSUPPORTED_EXPRESSION", option=name, type=self.type, supported=",".join(supported))


def check_count(function: str, arguments: Sequence[object]) -> None:
    """Raise InvalidOptionError if a call of a function has too few or too many arguments."""
    least, most = COUNTS[function]
    if least <= len(arguments) <= most:
        return
    failure = "not enough args" if len(arguments) < least else "too many args"
    raise failed("INCORRECT_NUMBER_OF_ARGUMENTS", option=function, failure=failure, least=least, most=most)


def change_bound(function: str, side: str, bound: Argument) -> dict[str, str]:
    """Return one side of a range as an option of the reader.

    Raises:
        InvalidOptionError: it is not a constant, or NULL, or its type fits neither a version nor a time.
    """
    bound.check_is_constant(function, f"{side} version or timestamp")
    if bound.is_null:
        raise failed("DELTA_CDC_READ_NULL_RANGE_BOUNDARY", option=side)
    if bound.type in _VERSIONS:
        return {f"{side}Version": bound.text}
    if bound.is_string:
        return {f"{side}Timestamp": bound.text}
    if bound.type not in _TIMES:
        raise bound.wrong_type(f"{side} option", ["IntegerType", "LongType", "StringType", "TimestampType"])
    micros = int(bound.text) * (86_400_000_000 if bound.type == "date" else 1)
    zone = "Z" if bound.type == "timestamp" else ""
    return {f"{side}Timestamp": format_timestamp(micros, " ", fraction_digits=6) + zone}
