# SPDX-License-Identifier: Apache-2.0
"""The statistics of one file, and whether a predicate keeps it."""

from __future__ import annotations

import json

import pyarrow as pa

from bayou.plan.predicates.predicate import Column, Comparison, In, Literal
from bayou.plan.skipping import may_match
from bayou.plan.statistics.columns import from_json

C = Column(("c",))
"""The column that the statistics are about."""


def a_file(low=None, high=None, nulls=0, rows=10, **more) -> str:
    stats = {"numRecords": rows, "minValues": {"c": low}, "maxValues": {"c": high}, "nullCount": {"c": nulls}, **more}
    return json.dumps({name: value for name, value in stats.items() if value is not None})


def keeps(predicate, stats, data_type="integer") -> bool:
    known = from_json(pa.array([stats], pa.string()), {("c",): data_type, ("s", "x"): "integer"})
    return may_match(predicate, known, {}).to_pylist()[0]


def compare(op, value, data_type="integer"):
    return Comparison(op, C, Literal(value, data_type))


def in_list(*values, data_type="integer"):
    return In(C, tuple(Literal(value, data_type) for value in values))
