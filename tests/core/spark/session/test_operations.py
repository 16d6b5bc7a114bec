# SPDX-License-Identifier: Apache-2.0
"""How the bins of a job are told."""

from __future__ import annotations

import pytest

from bayou.spark.session.operations import bins_text


@pytest.mark.parametrize(("first", "last", "text"), [(2, 3, "bin 3 of 7"), (0, 3, "bins 1 to 3 of 7"), (0, 7, "bins 1 to 7 of 7")])
def test_bins_are_counted_from_one(first, last, text):
    assert bins_text(first, last, 7) == text
