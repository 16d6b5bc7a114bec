# SPDX-License-Identifier: Apache-2.0
"""Settings are asked for once in a call. Those that are changed for a request come back, also after errors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark.sql.connect.proto", reason="the client of Spark Connect needs grpcio")

from pyspark.sql.connect import proto

from bayou.spark.portable.settings.known import Settings
from bayou.spark.portable.settings.pins import pinned
from bayou.spark.program_calls import program_call
from bayou.spark.session.session_transaction import LAST_VERSION

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


def test_settings_come_back_if_not_all_could_be_changed(session, server):
    """The server sets them one by one, and refuses one of them."""
    accepted = server.config

    def config(operation):
        for pair in operation.set.pairs:
            if pair.key == "b" and pair.value == "1":
                raise ConnectionError(pair.key)
            server.values[pair.key] = pair.value
        return accepted(operation)

    server.config = config
    with pytest.raises(ConnectionError, match="b"), pinned(session, WANTED):
        pass
    assert {name: server.values.get(name) for name in ("a", "c")} == {"a": "0", "c": "2"}
    with pinned(session, {"a": "1"}):
        assert server.values["a"] == "1"
    assert server.values["a"] == "0"


class Requests:
    """A server that answers requests about settings, and counts them by their kinds."""

    def __init__(self):
        self.stated = {"spark.sql.a": "1"}
        self.asked = []

    def __call__(self, request):
        operation = request.operation
        self.asked.append(operation.WhichOneof("op_type"))
        response = proto.ConfigResponse(session_id="s")
        self.stated |= {pair.key: pair.value for pair in operation.set.pairs}
        for name in operation.unset.keys:
            del self.stated[name]
        if operation.HasField("get_all"):
            response.pairs.extend([proto.KeyValue(key=name, value=value) for name, value in self.stated.items()])
        for name in [*operation.get.keys, *operation.get_option.keys]:
            response.pairs.add(key=name, value=self.stated.get(name, "default"))
        return response


def ask(settings, server, **operation):
    found = settings.answer(proto.ConfigRequest(operation=proto.ConfigRequest.Operation(**operation)), server)
    return {pair.key: pair.value for pair in found.pairs}


@pytest.fixture
def settings():
    return Settings()


@pytest.fixture
def asking(settings):
    server = Requests()
    return server, lambda **operation: ask(settings, server, **operation)


GET_ALL = {"get_all": proto.ConfigRequest.GetAll()}


def option(*names):
    return {"get_option": proto.ConfigRequest.GetOption(keys=names)}


def setting(**pairs):
    return {"set": proto.ConfigRequest.Set(pairs=[proto.KeyValue(key=f"spark.sql.{name}", value=pairs[name]) for name in pairs])}


def test_a_call_asks_once(asking):
    server, found = asking
    for _ in range(2):
        server.asked.clear()
        with program_call():
            assert found(**GET_ALL) == {"spark.sql.a": "1"}
            assert found(**option("spark.sql.a", "spark.sql.b")) == {"spark.sql.a": "1", "spark.sql.b": "default"}
            with program_call():
                assert found(**option("spark.sql.b")) == {"spark.sql.b": "default"}
    assert server.asked == ["get_all"]  # the second call knows the default
    found(**option("spark.sql.b"))
    assert server.asked == ["get_all", "get_option"]


def test_a_call_sees_what_the_program_changed_before_it_and_what_it_changed_itself(asking):
    server, found = asking
    with program_call():
        assert found(**option("spark.sql.a")) == {"spark.sql.a": "1"}
    server.stated["spark.sql.a"] = "2"  # by another client
    with program_call():
        assert found(**option("spark.sql.a")) == {"spark.sql.a": "2"}
        found(**setting(a="3"))
        assert found(**option("spark.sql.a")) == {"spark.sql.a": "3"}


def test_defaults_are_asked_for_again_if_other_settings_are_set(asking):
    server, found = asking
    with program_call():
        found(**option("spark.sql.b"))
    server.stated["spark.sql.other"] = "1"
    server.asked.clear()
    with program_call():
        found(**option("spark.sql.b"))
    assert server.asked == ["get_all", "get_option"]


def test_the_version_of_a_commit_is_set_with_the_next_settings(asking):
    server, found = asking
    version = {"set": proto.ConfigRequest.Set(pairs=[proto.KeyValue(key=LAST_VERSION, value="7")])}
    with program_call():
        found(**GET_ALL)
        found(**version)
        assert server.asked == ["get_all"]
    with program_call():
        assert found(**GET_ALL)[LAST_VERSION] == "7"
        found(**setting(c="1"))
    assert server.stated[LAST_VERSION] == "7"
    with program_call():
        found(**GET_ALL)
        found(**version)
    del server.stated[LAST_VERSION]
    assert found(**option(LAST_VERSION)) == {LAST_VERSION: "7"}


def test_what_the_program_sets_while_bayou_has_changed_it_is_restored(asking, settings):
    server, found = asking
    settings.pinned["spark.sql.a"] = ("1", "1")
    found(**setting(a="2"))
    assert settings.pinned["spark.sql.a"] == ("2", "2")
    assert server.stated["spark.sql.a"] == "2"
    settings.pinning(lambda: found(**setting(a="3")))
    assert settings.pinned["spark.sql.a"] == ("2", "2")
