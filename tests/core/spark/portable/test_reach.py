# SPDX-License-Identifier: Apache-2.0
"""That client and server share a folder is known for good; that they do not, for a minute."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark.sql.connect.proto", reason="the client of Spark Connect needs grpcio")

from types import SimpleNamespace

from bayou.spark.portable.scratch import reach
from bayou.spark.portable.scratch.reach import Reach, reach_of


class Session:
    """A session."""


def test_a_folder_that_is_not_shared_is_tried_again_after_a_minute(monkeypatch):
    now, answers = [100.0], [Reach(not_read="no such disk"), Reach()]
    monkeypatch.setattr(reach, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(reach, "_tried", lambda *_: answers.pop(0))
    session, folder = Session(), SimpleNamespace(uri="file:///shared")
    assert not reach_of(session, folder).is_shared
    now[0] += 59
    assert not reach_of(session, folder).is_shared
    now[0] += 2
    assert reach_of(session, folder).is_shared
    now[0] += 1000
    assert reach_of(session, folder).is_shared
