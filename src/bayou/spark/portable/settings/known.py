# SPDX-License-Identifier: Apache-2.0
"""Ask the server for a session's settings once in each call of the program, such as one write.

Each question is a round trip, and one write has several: for the store assignment policy, the time zone, the folder for lists.
Within a call, the client answers them with what the first one found. The next call asks again, because another client of the
session may have changed a setting.

The server's answer to that question has the settings that are set. The defaults of others depend on these and on the version of
Spark alone. So they are asked for once, as long as the same settings are set.

Each commit sets one setting, the version that it made. The server gets it with the next settings, or when the program asks for it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from bayou.spark.pinned_settings import OPTIONS, Job, values
from bayou.spark.portable.client import client_of
from bayou.spark.program_calls import notes_of_call
from bayou.spark.session.session_transaction import LAST_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    Send = Callable[[proto.ConfigRequest], proto.ConfigResponse]

_OWN: Final = ("spark.bayou.", "spark.databricks.delta.")
"""Settings of Delta Lake alone: Spark's defaults do not depend on them."""
_OF_PLANS: Final = ("spark.sql.adaptive.", "spark.sql.shuffle.partitions")
"""Settings that change no rows."""
_USUAL: Final = frozenset(
    {
        *values(Job.WRITE),
        *values(Job.REWRITE),
        *(pin.name for pin in OPTIONS[Job.FIELD_IDS]),
        "spark.bayou.scratch",
        "spark.sql.maxConcurrentOutputFileWriters",
        "spark.sql.session.timeZone",
        "spark.sql.streaming.fileStreamSink.ignoreMetadata",
    }
)
"""Settings that are asked for together, because most calls need them."""


@dataclass(frozen=True, slots=True)
class Known:
    """The settings of a session when a call of the program first asked for one.

    Attributes:
        stated: those that are set.
        defaults: the values of others; None for a name that Spark does not have. More are added once they are asked for.
        changes: how often the client's program had changed settings.
        response: the server's response, without settings.
    """

    stated: Mapping[str, str] = field(repr=False)
    defaults: dict[str, str | None] = field(repr=False)
    changes: int
    response: proto.ConfigResponse = field(repr=False)

    def value(self, name: str) -> str | None:
        """Return a setting with Spark's default, if it is known already."""
        return self.stated.get(name, self.defaults.get(name))


_making: Final = threading.Lock()


class Settings:
    """Answers the questions of one client about settings. Threads share it.

    Attributes:
        lock: held while settings are read or pinned.
        pinned: the values before `pins` changed them: what is set, or None, and the value with Spark's default.
        changes: how often the client's program has changed settings of Spark that may change what queries mean.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pinned: dict[str, tuple[str | None, str | None]] = {}
        self.changes = 0
        self._changes = 0
        self._late: dict[str, str] = {}
        self._usual = set(_USUAL)
        self._defaults: tuple[Mapping[str, str], dict[str, str | None]] = {}, {}
        self._of_thread = threading.local()

    def answer(self, request: proto.ConfigRequest, send: Send) -> proto.ConfigResponse:
        """Answer a request of the client, or send it.

        Args:
            send: sends a request to the server.
        """
        kind, notes = request.operation.WhichOneof("op_type"), notes_of_call()
        if kind in {"set", "unset"}:
            return self._changed(request, send, None if notes is None else notes.get(self))
        if notes is None or kind not in {"get", "get_all", "get_option", "get_with_default"}:
            operation = request.operation
            if kind == "get_all" or LAST_VERSION in (*_names(operation), *(pair.key for pair in operation.get_with_default.pairs)):
                self.send_late(request, send)
            return send(request)
        with self.lock:
            known: Known | None = notes.get(self)
            if known is None or known.changes != self._changes:
                known = notes[self] = self._asked(request, send)
            pairs = self._pairs(known, request, send)
        if pairs is None:
            return send(request)
        response = type(known.response)()
        response.CopyFrom(known.response)
        for name, value in pairs.items():
            pair = response.pairs.add(key=name)
            if value is not None:
                pair.value = value
        return response

    def pinning(self, change: Callable[[], object]) -> None:
        """Change settings for a request of bayou. What is known of them stays, because the program did not change them."""
        self._of_thread.pins = True
        try:
            change()
        finally:
            self._of_thread.pins = False

    def send_late(self, request: proto.ConfigRequest, send: Send) -> None:
        """Set what the server shall have before the program asks for settings, by a request or in SQL.

        Args:
            request: any request about settings.
        """
        with self.lock:
            if self._late:
                late = _like(request)
                late.operation.set.SetInParent()
                self._with_late(late, send)

    def _changed(self, request: proto.ConfigRequest, send: Send, known: Known | None) -> proto.ConfigResponse:
        operation = request.operation
        with self.lock:
            for name in operation.unset.keys:
                self._late.pop(name, None)
            pairs = {pair.key: pair.value for pair in operation.set.pairs}
            if known is not None and list(pairs) == [LAST_VERSION]:
                self._late |= pairs
                return known.response
            response = self._with_late(request, send)
            if not getattr(self._of_thread, "pins", False):
                self._changes += 1
                # What the program sets now is restored after the request for which bayou has changed it.
                changed: dict[str, str | None] = {**pairs, **dict.fromkeys(operation.unset.keys)}
                self.changes += any(not name.startswith((*_OWN, *_OF_PLANS)) for name in changed)
                for name in changed.keys() & self.pinned.keys():
                    self.pinned[name] = (changed[name], changed[name] or self.pinned[name][1])
        return response

    def _with_late(self, request: proto.ConfigRequest, send: Send) -> proto.ConfigResponse:
        if request.operation.HasField("set"):
            known = {pair.key for pair in request.operation.set.pairs}
            for name, value in self._late.items():
                if name not in known:  # a client that tries again sends the same request
                    request.operation.set.pairs.add(key=name, value=value)
            response = send(request)
            self._late.clear()
            return response
        return send(request)

    def _asked(self, request: proto.ConfigRequest, send: Send) -> Known:
        changes = self._changes
        asked = _like(request)
        asked.operation.get_all.SetInParent()
        response = send(asked)
        stated = {pair.key: pair.value for pair in response.pairs} | self._before_pins(0)
        stated = {name: value for name, value in (stated | self._late).items() if value is not None}
        response.ClearField("pairs")
        of_spark = {name: value for name, value in stated.items() if not name.startswith(_OWN)}
        if self._defaults[0] != of_spark:
            self._defaults = of_spark, {}
        return Known(stated, self._defaults[1], changes, response)

    def _before_pins(self, place: int) -> dict[str, str | None]:
        return {name: before[place] for name, before in self.pinned.items()}

    def _pairs(self, known: Known, request: proto.ConfigRequest, send: Send) -> Mapping[str, str | None] | None:
        """Return the answer to a question; None if only the server can give it, such as the error for an unknown name."""
        operation = request.operation
        if operation.HasField("get_all"):
            prefix = operation.get_all.prefix
            return None if prefix else known.stated
        if operation.HasField("get_with_default"):  # which has precedence over Spark's default
            given = {pair.key: pair.value if pair.HasField("value") else None for pair in operation.get_with_default.pairs}
            return None if None in given.values() else {name: known.stated.get(name, value) for name, value in given.items()}
        names = _names(operation)
        missing = [name for name in names if name not in known.stated and name not in known.defaults]
        if missing:
            self._add_defaults(known, missing, request, send)
        found = {name: known.value(name) for name in names}
        return None if operation.HasField("get") and None in found.values() else found

    def _add_defaults(self, known: Known, missing: Iterable[str], request: proto.ConfigRequest, send: Send) -> None:
        asked = _like(request)
        self._usual.update(missing)
        asked.operation.get_option.keys.extend(sorted(self._usual - set(known.stated)))
        found: dict[str, str | None] = {pair.key: pair.value if pair.HasField("value") else None for pair in send(asked).pairs}
        known.defaults.update(found | {name: value for name, value in self._before_pins(1).items() if name in found})


_of_clients: Final[WeakKeyDictionary[Any, Settings]] = WeakKeyDictionary()


def settings_of(spark: SparkSession) -> Settings:
    """Return what is known about the settings of a session of Spark Connect."""
    return settings_of_client(client_of(spark))


def settings_of_client(client: Any) -> Settings:
    """Return what is known about the settings of a client's session."""
    with _making:
        return _of_clients.setdefault(client, Settings())


def _names(operation: proto.ConfigRequest.Operation) -> list[str]:
    return [*operation.get.keys, *operation.get_option.keys]


def _like(request: proto.ConfigRequest) -> proto.ConfigRequest:
    made = type(request)()
    made.CopyFrom(request)
    made.ClearField("operation")
    return made
