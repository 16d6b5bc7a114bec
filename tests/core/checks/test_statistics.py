# SPDX-License-Identifier: Apache-2.0
"""Statistics that Arrow cannot hold are findings, and do not end the check."""

from __future__ import annotations

import json

import pytest
from tests.core.checks.building import OLD, add, field, found, log, metadata

COLUMNS = (field("id"), field("x", "double"), field("s", "string"))
TOO_LARGE = {
    "numRecords": {"numRecords": 1 << 70},
    "nullCount": {"numRecords": 1, "nullCount": {"id": 1 << 70}},
    "a long": {"numRecords": 1, "minValues": {"id": 1 << 70}},
    "a double": {"numRecords": "1", "minValues": {"x": 10**400}},
    "half a character": {"numRecords": 1, "minValues": {"s": "\ud800"}},
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_value_that_arrow_cannot_hold_is_a_finding(name):
    builder = log([OLD, metadata(*COLUMNS), add(stats=json.dumps(TOO_LARGE[name])), add("b.parquet", stats={"numRecords": 1})])
    assert "stats-json" in {each.rule for each in found(builder, footers=True).findings}
