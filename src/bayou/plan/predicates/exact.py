# SPDX-License-Identifier: Apache-2.0
"""The truth of predicates for known values: those of a partition column, one for each file, or those of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.comparisons import compare, constant, is_any
from bayou.plan.predicates.predicate import Comparison, In, IsNotNull, IsNull, StartsWith

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.plan.predicates.literals import Literal


def plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the values as one array without a dictionary, as comparisons need it."""
    array = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def truth(leaf: Comparison | In | IsNull | IsNotNull | StartsWith, values: pa.Array) -> pa.Array | None:
    """Return the truth of a predicate about one column for each of its values, null for NULL; None if the types do not compare."""
    match leaf:
        case IsNull():
            return pc.is_null(values)
        case IsNotNull():
            return pc.is_valid(values)
        case In(_, literals):
            return membership(values, literals)
        case StartsWith(_, text):
            return prefix(values, text)
        case Comparison("<=>", _, literal):
            return sameness(values, literal)
        case Comparison(op, _, literal):
            return comparison(op, values, literal)


def comparison(op: str, values: pa.Array, literal: Literal) -> pa.Array | None:
    """Return the truth of `value op literal` for each file, null for NULL; None if the types do not compare."""
    if literal.value is None:
        return pa.nulls(len(values), pa.bool_())
    against = constant(literal, values.type)
    return None if against is None else compare(op, values, against)


def sameness(values: pa.Array, literal: Literal) -> pa.Array | None:
    """Return whether each value equals the literal, with NULL equal to NULL; None if the types do not compare."""
    if literal.value is None:
        return pc.is_null(values)
    same = comparison("=", values, literal)
    return None if same is None else pc.fill_null(same, False)


def membership(values: pa.Array, literals: Sequence[Literal]) -> pa.Array | None:
    """Return the truth of `value in literals` for each file, null for NULL; None if the types do not compare."""
    present = {literal for literal in literals if literal.value is not None}
    constants = [each for literal in present if (each := constant(literal, values.type)) is not None]
    if len(constants) < len(present):
        return None
    found = is_any(values, constants)
    has_null = any(literal.value is None for literal in literals)
    return pc.or_kleene(found, pa.nulls(len(values), pa.bool_())) if has_null else found


def prefix(values: pa.Array, text: str) -> pa.Array | None:
    """Return the truth of `value starts with text` for each file, null for NULL; None if values are not strings."""
    return pc.starts_with(values, text) if pa.types.is_string(values.type) else None
