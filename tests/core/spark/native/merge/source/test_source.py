# SPDX-License-Identifier: Apache-2.0
"""The size of a source that Spark's setting allows for a broadcast."""

from __future__ import annotations

import pytest

from bayou.spark.native.merge.source.source import bytes_of

SIZES = {
    "10485760": 10 << 20,
    " 64 ": 64,
    "8b": 8,
    "3k": 3 << 10,
    "3KB": 3 << 10,
    "10m": 10 << 20,
    "2Gb": 2 << 30,
    "1t": 1 << 40,
    "1tb": 1 << 40,
    "1p": 1 << 50,
    "-1": -1,
    "": 0,
    "10kib": 0,
    "x": 0,
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_are_read_as_spark_reads_them(text):
    assert bytes_of(text) == SIZES[text]
