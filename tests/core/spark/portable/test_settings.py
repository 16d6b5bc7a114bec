# SPDX-License-Identifier: Apache-2.0
"""Settings that are changed for a request come back, also after errors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.spark.portable.settings.pins import pinned

WANTED = {"a": "1", "b": "1", "c": "1"}


class Server:
    """The settings of a session of Spark Connect."""

    def __init__(self):
        self.values = {"a": "0", "c": "2"}
        self.refuses = set()
        self._stub = None

    @property
    def getAll(self):  # noqa: N802  (PySpark's name)
        return dict(self.values)

    def config(self, operation):
        if operation.HasField("get_option"):
            return SimpleNamespace(pairs=[(key, self.values.get(key, "0")) for key in operation.get_option.keys])
        for name in [*operation.unset.keys, *(pair.key for pair in operation.set.pairs)]:
            if name in self.refuses:
                raise ConnectionError(name)
        for name in operation.unset.keys:
            self.values.pop(name, None)
        self.values |= {pair.key: pair.value for pair in operation.set.pairs}
        return SimpleNamespace(pairs=[])


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def session(server):
    pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")
    kind = type("Session", (), {"__module__": "pyspark.sql.connect.session"})
    made = kind()
    made.client, made.conf = server, server
    return made


def test_settings_come_back(session, server):
    with pinned(session, WANTED):
        assert server.values == WANTED
    assert server.values == {"a": "0", "c": "2"}


def test_blocks_inside_each_other_restore_at_the_end_of_the_outer_one(session, server):
    with pinned(session, WANTED):
        with pinned(session, {"a": "1"}):
            pass
        assert server.values == WANTED
    assert server.values == {"a": "0", "c": "2"}


def test_a_setting_that_cannot_be_restored_keeps_no_other_one(session, server):
    with pytest.raises(ConnectionError, match="a"), pinned(session, WANTED):
        server.refuses = {"a"}
    assert server.values == {"a": "1", "c": "2"}


def test_the_error_of_the_program_is_the_one_that_is_raised(session, server):
    def fail():
        with pinned(session, WANTED):
            server.refuses = {"a", "b"}
            raise ValueError("of the program")

    with pytest.raises(ValueError, match="of the program"):
        fail()
    assert server.values["c"] == "2"
