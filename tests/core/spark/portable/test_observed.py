# SPDX-License-Identifier: Apache-2.0
"""What a job counts has the order of its aggregates, in whatever order a server sends it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")

from bayou.spark.portable import client


class Observed:
    """An observation after its job."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.get = found


@pytest.fixture
def observed(monkeypatch):
    """Makes a DataFrame with an observation `rows` of the aggregates `count` and `least`, and returns what a job observed."""
    names: dict[Any, list[str]] = {}
    monkeypatch.setattr(client, "_names", names)
    monkeypatch.setattr(client, "is_of_connect", lambda _: True)

    def make(found: dict[str, Any]) -> dict[str, list[Any]]:
        made = Observed(found)
        names[made] = ["count", "least"]
        frame: Any = SimpleNamespace(_plan=SimpleNamespace(observations={"rows": made}))
        return client.observed(frame, ["rows"])

    return make


def test_values_have_the_order_of_the_aggregates(observed):
    assert observed({"least": "a", "count": 3}) == {"rows": [3, "a"]}


def test_a_server_that_found_no_rows_sends_nothing(observed):
    assert observed({}) == {}
