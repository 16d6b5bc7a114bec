# SPDX-License-Identifier: Apache-2.0
"""Tables with features, made by the same statements by us and by delta-spark: delta-rs reads both the same, or refuses both."""

from __future__ import annotations

import pytest
from tests.interop.delta_rs import by_data_set, outcomes
from tests.interop.kinds_of_tables import KINDS, made_by_them, made_by_us
from tests.interop.sampled import sampled

pytestmark = pytest.mark.oracle

REFUSED = {"type widening"}
"""What delta-rs does not read, whoever made it."""


@pytest.mark.parametrize("kind", sampled(KINDS, 3))
def test_delta_rs_takes_our_tables_as_delta_sparks(spark, delta_spark, tmp_path, kind):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    made_by_us(spark, ours, KINDS[kind])
    made_by_them(delta_spark, theirs, KINDS[kind])
    expected = outcomes(theirs)
    assert outcomes(ours) == expected
    assert any(not isinstance(each, str) for each in expected) is (kind not in REFUSED), expected


def test_delta_rs_reads_chars_as_queries_see_them(spark, tmp_path):
    """Delta-spark stores what it is given, and other readers see that: here a row that is shorter than its char."""
    path = str(tmp_path / "ours")
    made_by_us(spark, path, KINDS["char and varchar"])
    spark.sql(f"insert into delta.`{path}` values ('a', 'b')")
    assert sorted(by_data_set(path)["c"].to_pylist()) == ["a  ", "abc"]
