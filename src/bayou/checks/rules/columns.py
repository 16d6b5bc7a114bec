# SPDX-License-Identifier: Apache-2.0
"""Column Invariants, CHECK Constraints, Generated Columns, Default Columns and Identity Columns."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section, in_action, violated
from bayou.checks.schema_json import Column
from bayou.checks.timeline import Epoch

_INVARIANTS = Section("Column Invariants", "invariant")
_CONSTRAINTS = Section("CHECK Constraints", "constraint")
_GENERATED = Section("Generated Columns", "generated")
_DEFAULTS = Section("Default Columns", "default")
_IDENTITY = Section("Identity Columns", "identity")
SECTIONS = (_INVARIANTS, _CONSTRAINTS, _GENERATED, _DEFAULTS, _IDENTITY)

_PREFIX = "delta.constraints."
_INVARIANT = "delta.invariants"
_EXPRESSION = "delta.generationExpression"
_DEFAULT = "CURRENT_DEFAULT"
_START, _STEP, _MARK = "delta.identity.start", "delta.identity.step", "delta.identity.highWaterMark"
_EXPLICIT = "delta.identity.allowExplicitInsert"


def _with_key(log: RawLog, *keys: str) -> Iterator[tuple[Epoch, Column]]:
    """Yield the columns whose metadata has one of some keys."""
    for epoch in log.epochs:
        for column in epoch.columns:
            if epoch.metadata and any(each in column.metadata for each in keys):
                yield epoch, column


def _at(epoch: Epoch, detail: str) -> Iterator[Found]:
    if epoch.metadata:
        yield in_action(epoch.metadata, detail)


@_INVARIANTS.risky("feature", "A column has an invariant only if the feature invariants is supported.")
def invariants_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _INVARIANT):
        if not epoch.supports("invariants"):
            yield from _at(epoch, f"{column.name} has an invariant, and the protocol lacks invariants")


@_INVARIANTS.broken("expression", "An invariant is the JSON of an expression.")
def invariants_are_expressions(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _INVARIANT):
        text = column.metadata[_INVARIANT]
        try:
            is_valid = isinstance(json.loads(text)["expression"]["expression"], str)
        except (ValueError, TypeError, KeyError, RecursionError):
            is_valid = False
        if not is_valid:
            yield from _at(epoch, f"that of {column.name} is {text!r:.60}")


@_INVARIANTS.broken("rows", "An invariant is true for each row.", Reads.ROWS)
def rows_fulfil_invariants(log: RawLog) -> Iterator[Found]:
    return violated(log, "INVARIANT")


@_CONSTRAINTS.broken("feature", "A table has CHECK constraints only if the feature checkConstraints is supported.")
def constraints_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        names = [each for each in epoch.configuration if each.lower().startswith(_PREFIX)]
        if names and not epoch.supports("checkConstraints"):
            yield from _at(epoch, f"{names[0]} is set, and the protocol lacks checkConstraints")


@_CONSTRAINTS.broken("expression", "A CHECK constraint has a name and an expression.")
def constraints_are_expressions(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for key, text in epoch.configuration.items():
            if key.lower().startswith(_PREFIX) and (key.lower() == _PREFIX or not text.strip()):
                yield from _at(epoch, f"{key} is {text!r:.60}")


@_CONSTRAINTS.broken("rows", "A CHECK constraint is true for each row.", Reads.ROWS)
def rows_fulfil_constraints(log: RawLog) -> Iterator[Found]:
    return violated(log, "CHECK")


@_GENERATED.broken("feature", "A column has a generation expression only if the feature generatedColumns is supported.")
def generated_columns_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _EXPRESSION):
        if not epoch.supports("generatedColumns"):
            yield from _at(epoch, f"{column.name} is generated, and the protocol lacks generatedColumns")


@_GENERATED.broken("expression", "A generation expression is a SQL expression, and its result is not a variant.")
def generation_expressions_are_texts(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _EXPRESSION):
        text = column.metadata[_EXPRESSION]
        if not isinstance(text, str) or not text.strip() or column.type == "variant":
            yield from _at(epoch, f"that of {column.name}, of type {column.type!r:.30}, is {text!r:.60}")


@_GENERATED.broken("rows", "A value of a generated column equals the result of its expression.", Reads.ROWS)
def generated_values_are_right(log: RawLog) -> Iterator[Found]:
    return violated(log, "GENERATED")


@_DEFAULTS.broken("feature", "A column has a default only if the feature allowColumnDefaults is supported.")
def defaults_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _DEFAULT):
        if not epoch.supports("allowColumnDefaults"):
            yield from _at(epoch, f"{column.name} has a default, and writerFeatures lacks allowColumnDefaults")


@_DEFAULTS.broken("expression", "A default is a SQL expression, and that of a variant is NULL.")
def defaults_are_texts(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _DEFAULT):
        text = column.metadata[_DEFAULT]
        is_text = isinstance(text, str) and text.strip()
        if not is_text or (column.type == "variant" and text.strip().lower() != "null"):
            yield from _at(epoch, f"that of {column.name} is {text!r:.60}")


@_IDENTITY.broken("feature", "A column is an identity column only if the feature identityColumns is supported.")
def identity_columns_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _START, _STEP, _MARK):
        if not epoch.supports("identityColumns"):
            yield from _at(epoch, f"{column.name} is an identity column, and the protocol lacks identityColumns")


@_IDENTITY.broken("values", "An identity column has a start, a step other than 0 and allowExplicitInsert.")
def identity_values_are_valid(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _START, _STEP, _MARK):
        found = column.metadata
        wrong = [key for key in (_START, _STEP) if type(found.get(key)) is not int]
        wrong += [_MARK] if type(found.get(_MARK)) not in (int, type(None)) else []
        wrong += [_EXPLICIT] if type(found.get(_EXPLICIT)) is not bool else []
        wrong += [_STEP] if found.get(_STEP) == 0 else []
        if wrong:
            yield from _at(epoch, f"{wrong[0]} of {column.name} is {found.get(wrong[0])!r:.60}")


@_IDENTITY.risky("high-water-mark", "The high water mark of an identity column that only generates values is start + k * step.")
def high_water_marks_are_generated(log: RawLog) -> Iterator[Found]:
    for epoch, column in _with_key(log, _MARK):
        start, step, mark = (column.metadata.get(each) for each in (_START, _STEP, _MARK))
        if type(start) is int and type(step) is int and step and type(mark) is int and column.metadata.get(_EXPLICIT) is False:
            count, rest = divmod(mark - start, step)
            if rest or count < 0:
                yield from _at(epoch, f"that of {column.name} is {mark}, with start {start} and step {step}")


@_IDENTITY.risky(
    "rows",
    "Values of an identity column that only generates values are start + k * step, up to the high water mark.",
    Reads.ROWS,
)
def identity_values_are_generated(log: RawLog) -> Iterator[Found]:
    return violated(log, "IDENTITY")


@_IDENTITY.risky("fixed", "Start, step and allowExplicitInsert of an identity column do not change.")
def identity_columns_do_not_change(log: RawLog) -> Iterator[Found]:
    known: dict[tuple[object, tuple[str, ...]], tuple[object, ...]] = {}
    for epoch, column in _with_key(log, _START):
        table = epoch.metadata.value.get("id") if epoch.metadata else None
        values = tuple(column.metadata.get(each) for each in (_START, _STEP, _EXPLICIT))
        before = known.setdefault((str(table), column.physical_path), values)
        if before != values:
            yield from _at(epoch, f"those of {column.name} were {before} and are {values}")
