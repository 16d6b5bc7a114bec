# SPDX-License-Identifier: Apache-2.0
"""Put the rewriting of requests on a session, and take it off again."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from pyspark.errors import PySparkNotImplementedError

from bayou.spark.backend import is_of_connect
from bayou.spark.portable.requests.rewriting import Rewriter
from bayou.spark.portable.requests.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.answers import Answers

_LOCK: Final = threading.Lock()
_CLIENTS: Final[WeakSet[Any]] = WeakSet()
"""The clients of the sessions whose requests were rewritten."""


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one session, which are rewritten."""

    _client: Any
    _stub: Stub
    _rewriter: Rewriter

    def untouched(self) -> AbstractContextManager[None]:
        """Within it, the requests of this thread pass untouched."""
        return self._rewriter.relations.untouched()

    def is_view(self, parts: Sequence[str]) -> bool:
        """Whether a name, given its parts, is that of a temporary view that holds Delta tables and follows them."""
        return self._rewriter.relations.views.has(parts)

    def renew_cached(self) -> None:
        """Cache again those DataFrames that the program cached and whose tables have a new version."""
        self._rewriter.renew_cached()

    def drop_cached(self, is_meant: Callable[[proto.Relation], bool]) -> None:
        """Let the server drop the DataFrames that the program cached and whose relations are meant."""
        self._rewriter.drop_cached(is_meant)

    def remove(self) -> None:
        """Leave the session as it was. Requests that run are not disturbed."""
        self._stub.rewriter = None
        if not self._client.is_closed and self._client._stub is self._stub:
            self._client._stub = self._stub.inner


def install(spark: SparkSession, answers: Answers) -> Requests:
    """Rewrite the requests of a Spark Connect session. Other sessions of the process are not touched.

    Args:
        spark: the session.
        answers: what decides about the requests. If they are rewritten already, the answers of the first call stay.
    """
    client: Any = spark.client
    with _LOCK:
        installed = requests_of(spark)
        if installed is not None:
            return installed
        rewriter = Rewriter(spark, answers)
        client._stub = Stub(client._stub, rewriter)
        _CLIENTS.add(client)
        return Requests(client, client._stub, rewriter)


def requests_of(spark: SparkSession) -> Requests | None:
    """The requests of a session if they are rewritten, otherwise None."""
    return _requests_of(spark.client) if is_of_connect(spark) else None


def requests_beside(spark: SparkSession) -> list[Requests]:
    """The requests of a session and of the others of the process that are open on the same host, as far as they are rewritten."""
    if not is_of_connect(spark):
        return []
    host = _host(spark.client)
    with _LOCK:
        clients = [each for each in _CLIENTS if not each.is_closed and _host(each) == host]
    return [found for each in clients if (found := _requests_of(each)) is not None]


def _host(client: Any) -> str | None:
    """Return the host of a client's server; None if the client was made with a channel that does not state it."""
    try:
        return str(client.host)
    except PySparkNotImplementedError:
        return None


def _requests_of(client: Any) -> Requests | None:
    stub = client._stub
    if isinstance(stub, Stub) and stub.rewriter is not None:
        return Requests(client, stub, stub.rewriter)
    return None
