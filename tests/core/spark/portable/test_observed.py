# SPDX-License-Identifier: Apache-2.0
"""What a job counts has the order of its aggregates, in whatever order a server sends it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")

from pyspark.errors import PySparkException

from bayou.spark.portable import backend


class Observed:
    """An observation after its job."""

    def __init__(self, found: dict[str, Any] | None) -> None:
        self._found = found

    @property
    def get(self) -> dict[str, Any]:
        if self._found is None:
            raise PySparkException("no values came")
        return self._found


@pytest.fixture
def observed(monkeypatch):
    """Makes observations of the aggregates `count` and `least`."""
    names: dict[Any, list[str]] = {}
    monkeypatch.setattr(backend, "_observed_names", names)

    def make(found: dict[str, Any] | None) -> Observed:
        made = Observed(found)
        names[made] = ["count", "least"]
        return made

    return make


def test_values_have_the_order_of_the_aggregates(observed):
    assert backend._values(observed({"least": "a", "count": 3})) == [3, "a"]


@pytest.mark.parametrize("found", [{}, None])
def test_a_server_that_found_no_rows_sends_nothing(observed, found):
    assert backend._values(observed(found)) is None


def test_a_job_without_the_observation_has_no_values():
    assert backend._values(None) is None
