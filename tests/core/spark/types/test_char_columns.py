# SPDX-License-Identifier: Apache-2.0
"""Partition values of chars as queries see them."""

from __future__ import annotations

import pyarrow as pa

from bayou.spark.types.char_columns import padded_texts


def test_texts_are_padded_and_those_for_null_stay():
    texts = pa.array(["ab", "", None, "é", "longer"])
    assert padded_texts(texts, 4).to_pylist() == ["ab  ", "", None, "é   ", "longer"]
    assert padded_texts(texts, 0).to_pylist() == texts.to_pylist()
