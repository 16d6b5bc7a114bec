# SPDX-License-Identifier: Apache-2.0
"""Comparisons of Arrow columns with constants, in Spark's order of values.

It differs from Arrow's order for floats only: NaN equals itself and exceeds everything, and -0.0 equals 0.0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.partition_values import arrow_type
from bayou.protocol.types import partition_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.plan.predicates.literals import Literal

NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_MAX_PRECISION = 38
_WIDE = Context(prec=2 * _MAX_PRECISION, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_FUNCTIONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
# For a constant between two values of the column's scale: the comparison with the value below it.
_BETWEEN = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant in the type of the column that it is compared with.

    Attributes:
        value: for Arrow; for a decimal, the greatest value of the column's scale that is not above the constant.
        is_exact: whether `value` is the constant itself.
    """

    value: pa.Scalar
    is_exact: bool = True

    @property
    def is_nan(self) -> bool:
        """Whether the constant is a float's NaN."""
        return bool(pa.types.is_floating(self.value.type)) and math.isnan(self.value.as_py())


def constant(literal: Literal, target: pa.DataType) -> Constant | None:
    """Return the constant for a column of an Arrow type; None if the two do not compare without a cast."""
    if literal.value is None or not _is_same_family(literal.type, target):
        return None
    if pa.types.is_decimal(target):
        return _decimal_constant(literal.value, target.scale)
    value = int(literal.value) if isinstance(literal.value, bool) else literal.value
    try:
        return Constant(pa.scalar(value, _widened(target)))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def compare(op: str, values: pa.Array, against: Constant) -> pa.Array:
    """Return `values op constant`, exactly; null if a value is null."""
    if not against.is_exact:
        if op in {"=", "!="}:
            return _everywhere(values, truth=op == "!=")
        op = _BETWEEN[op]
    comparable = _comparable(values)
    if pa.types.is_floating(values.type):
        return _compare_floats(op, comparable, against)
    return _FUNCTIONS[op](comparable, against.value)


def is_any(values: pa.Array, constants: Sequence[Constant]) -> pa.Array:
    """Return whether each value equals one of the constants; null if a value is null."""
    if pa.types.is_floating(values.type):
        # Arrow's lookup distinguishes -0.0 from 0.0.
        return reduce(pc.or_, (compare("=", values, each) for each in constants), _everywhere(values, truth=False))
    comparable = _comparable(values)
    exact = pa.array([each.value for each in constants if each.is_exact], comparable.type)
    return pc.if_else(pc.is_valid(values), pc.is_in(comparable, exact), None)


def _compare_floats(op: str, values: pa.Array, against: Constant) -> pa.Array:
    if op in {"!=", "<", "<="}:
        return pc.invert(_compare_floats(NEGATED[op], values, against))
    is_nan = pc.is_nan(values)
    if against.is_nan:
        return is_nan if op in {"=", ">="} else _everywhere(values, truth=False)
    plain = _FUNCTIONS[op](values, against.value)
    return plain if op == "=" else pc.or_(plain, is_nan)


def _everywhere(values: pa.Array, *, truth: bool) -> pa.Array:
    return pc.if_else(pc.is_valid(values), truth, None)


def _comparable(values: pa.Array) -> pa.Array:
    wide = _widened(values.type)
    return values if values.type == wide else values.cast(wide)


def _widened(target: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(target) or pa.types.is_boolean(target):
        return pa.int64()
    if pa.types.is_floating(target):
        return pa.float64()
    return pa.decimal128(_MAX_PRECISION, target.scale) if pa.types.is_decimal(target) else target


def _is_same_family(data_type: str, target: pa.DataType) -> bool:
    is_integer = data_type in partition_values.INTEGER_BITS
    if pa.types.is_integer(target):
        return is_integer
    if pa.types.is_decimal(target):
        return is_integer or partition_values.decimal_type(data_type) is not None
    if pa.types.is_floating(target):
        return is_integer or data_type in {"float", "double"}
    if partition_values.is_string_type(data_type):
        return pa.types.is_string(target) and "collate" not in data_type.lower()
    return data_type in {"boolean", "binary", "date", "timestamp", "timestamp_ntz"} and arrow_type(data_type) == target


def _decimal_constant(value: Any, scale: int) -> Constant | None:
    """Return None beyond 38 digits: the column cannot hold such a value, and neither can Arrow."""
    exact = Decimal(value)
    if not exact.is_finite() or exact.adjusted() + scale >= _MAX_PRECISION:
        return None
    below = exact.quantize(Decimal((0, (1,), -scale)), context=_WIDE)
    try:
        scalar = pa.scalar(below, pa.decimal128(_MAX_PRECISION, scale))
    except pa.ArrowException:
        return None
    return Constant(scalar, is_exact=below == exact)
