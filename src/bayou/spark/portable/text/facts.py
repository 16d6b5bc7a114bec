# SPDX-License-Identifier: Apache-2.0
"""Find the facts of an expression that decide what bayou may do with it, such as its columns and its functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import (
    Call,
    ComputedName,
    Lambda,
    Name,
    Opaque,
    Operation,
    Parameter,
    Row,
    Star,
    Subquery,
    Window,
    all_nodes,
    children,
)
from bayou.spark.text.parsed_expression import ParsedExpression

if TYPE_CHECKING:
    from bayou.spark.portable.text.literals import Dialect
    from bayou.spark.portable.text.tree import Expression

_FORBIDDEN: Final = {
    Subquery: "a subquery",
    Window: "a window",
    Star: "a star",
    Parameter: "a parameter",
    ComputedName: "a name that is computed (IDENTIFIER)",
}
_OPERATORS_WITH_NAMES: Final = {"||": "concat", "between": "between", "ilike any": "lower", "ilike all": "lower"}
"""The operators that Spark's parser converts to functions."""
_NONDETERMINISTIC: Final = frozenset(
    """
    rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length sample reflect java_method try_reflect
    """.split()  # noqa: SIM905
)
_AGGREGATES: Final = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or bit_xor bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by
    mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
    stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of an expression.

    Attributes:
        parsed: its columns, its functions and what no stored expression may have.
        has_subquery: whether it has a query in it.
        has_window: whether it has a call with OVER.
        has_aggregate: whether it calls an aggregate function of Spark. A user's aggregate function is not known.
        is_deterministic: whether it calls no function of Spark that may give another value each time. A user's function is not
            known.
    """

    parsed: ParsedExpression
    has_subquery: bool
    has_window: bool
    has_aggregate: bool
    is_deterministic: bool


def parsed_text(text: str, dialect: Dialect | None = None) -> ParsedExpression:
    """Return the parts of an expression that a table stores or will store. Raise UnreadableTextError if bayou cannot read it.

    Unlike Spark's parser, it also names the columns that the body of a lambda uses.
    """
    return facts_of(read_expression(text, dialect, is_stored=True), text).parsed


def facts_of(root: Expression, text: str) -> Facts:
    """Return the facts of an expression.

    Args:
        root: the expression's tree.
        text: the expression as it is written, which the facts repeat.
    """
    nodes = list(all_nodes(root))
    kinds = {type(node) for node in nodes}
    functions = {name for node in nodes for name in _functions(node)}
    counts = (node for node in nodes if isinstance(node, Call) and node.name[-1].lower() == "count")
    counted = {id(node.arguments[0]) for node in counts if node.arguments == (Star(),)}
    forbidden = [_FORBIDDEN[type(node)] for node in nodes if type(node) in _FORBIDDEN and id(node) not in counted]
    forbidden += [f"a {node.what}" for node in nodes if isinstance(node, Opaque)]
    return Facts(
        ParsedExpression(text, frozenset(functions), frozenset(_columns(root)), tuple(dict.fromkeys(forbidden)), Lambda in kinds),
        has_subquery=Subquery in kinds,
        has_window=Window in kinds,
        has_aggregate=not functions.isdisjoint(_AGGREGATES),
        is_deterministic=_NONDETERMINISTIC.isdisjoint(name.rpartition(".")[2] for name in functions) and Opaque not in kinds,
    )


def conjuncts(root: Expression) -> tuple[Expression, ...]:
    """Return the conditions that must all hold, if an expression is a conjunction; otherwise the expression."""
    if not isinstance(root, Operation) or root.operator != "and":
        return (root,)
    return tuple(part for operand in root.operands for part in conjuncts(operand))


def _functions(node: Expression) -> tuple[str, ...]:
    """Return the function that a node calls, in lower case."""
    match node:
        case Call(name):
            return (".".join(name).lower().removeprefix("system.").removeprefix("builtin."),)
        case Row():
            return ("named_struct",)
        case Operation(operator) if operator in _OPERATORS_WITH_NAMES:
            return (_OPERATORS_WITH_NAMES[operator],)
        case _:
            return ()


def _columns(root: Expression) -> set[tuple[str, ...]]:
    """Return the paths of the columns of an expression, without the parameters of lambdas."""
    found = set()
    waiting: list[tuple[Expression, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, variables = waiting.pop()
        if isinstance(node, Name) and node.parts[0].lower() not in variables:
            found.add(node.parts)
        if isinstance(node, Lambda):
            variables |= {each.lower() for each in node.parameters}
        waiting += [(child, variables) for child in children(node)]
    return found
