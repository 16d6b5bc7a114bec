# SPDX-License-Identifier: Apache-2.0
"""Define Python objects that the JVM calls, and protect the port through which it calls them.

py4j's callback port listens on loopback, and PySpark leaves it without authentication: any local process could call the Python
objects. `start` prevents this: the port requires the gateway's token, and object ids cannot be guessed.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.errors import PySparkException

from bayou.errors import DeltaError, SqlSyntaxError
from bayou.spark.jvm.core.signatures import missing_call
from bayou.spark.jvm.gateway import JavaObject as Py4JObject
from bayou.spark.jvm.gateway import Py4JError, Py4JJavaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_KEPT_ERRORS = 64
"""The number of recent errors that are kept until PySpark converts the Java exceptions that carry them."""


_PLAIN_ERROR = "bayou.DeltaError"
_NAMED_ERROR = "bayou.NamedError"
_SYNTAX_ERROR = "bayou.SyntaxError"
JAVA_ERRORS = frozenset({_PLAIN_ERROR, _NAMED_ERROR, _SYNTAX_ERROR})
"""The Java exceptions that carry Python exceptions."""
_INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
_UNGUESSABLE = 1 << 100
"""The smallest name of a Python object that the JVM may call. Names start here plus a number of as many random bits."""


class Errors:
    """Python exceptions that pass through the JVM, by key. Only the newest are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, BaseException] = OrderedDict()

    def keep(self, error: BaseException) -> str:
        """Keep an exception and return its key."""
        key = secrets.token_hex(8)
        self._kept[key] = error
        while len(self._kept) > _KEPT_ERRORS:
            self._kept.popitem(last=False)
        return key

    def get(self, key: str) -> BaseException | None:
        """Return the exception of that key, if it is still kept."""
        return self._kept.get(key)


ERRORS = Errors()
"""The errors of this process. A py4j callback and the conversion of its exception may run in different threads."""


class _Callback:
    """The base of all callbacks: raises Java exceptions that carry the key of the Python exception."""

    def __init__(self, jvm: Jvm, function: Callable[..., Any]) -> None:
        self._jvm = jvm
        self._function = function

    def _call(self, *arguments: Any) -> Any:
        try:
            return self._function(*arguments)
        except Py4JJavaError:
            raise
        except PySparkException as error:
            origin = getattr(error, "_origin", None)  # the JVM's exception, if the JVM raised it
            raise Py4JJavaError("", origin if origin is not None else java_error(self._jvm, error)) from error
        except KeyboardInterrupt as error:  # Ctrl-C stopped a statement; it is raised again where the JVM was called
            raise Py4JJavaError("", java_error(self._jvm, error)) from error
        except Exception as error:
            missing = missing_call(self._jvm.spark_version_text, error) if isinstance(error, Py4JError) else None
            if missing is not None:
                raise Py4JJavaError("", java_error(self._jvm, missing)) from error
            interruption = _interruption(error)
            raise Py4JJavaError("", interruption or java_error(self._jvm, error)) from error


def _interruption(error: BaseException) -> JavaObject | None:
    """Return Java's exception for an interruption, as of a stopped streaming query. Spark does not treat it as a failure."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Py4JJavaError):
            thrown = cause.java_exception
            while thrown is not None:
                if thrown.getClass().getName() in _INTERRUPTIONS:
                    return thrown
                thrown = thrown.getCause()
        cause = cause.__cause__ or cause.__context__
    return None


class BiFunction(_Callback):
    """A Python function of two arguments as `java.util.function.BiFunction`."""

    def apply(self, first: Any, second: Any) -> Any:
        """Called by the JVM."""
        return self._call(first, second)

    class Java:
        """Read by py4j."""

        implements: ClassVar = ["java.util.function.BiFunction"]


class BiConsumer(_Callback):
    """A Python function of two arguments as `java.util.function.BiConsumer`."""

    def accept(self, first: Any, second: Any) -> None:
        """Called by the JVM."""
        self._call(first, second)

    class Java:
        """Read by py4j."""

        implements: ClassVar = ["java.util.function.BiConsumer"]


class Block(_Callback):
    """A Python function without arguments as Scala's `Function0`, a by-name block. Its result stays in Python."""

    def __init__(self, jvm: Jvm, function: Callable[[], Any]) -> None:
        super().__init__(jvm, function)
        self.result: Any = None

    def apply(self) -> None:
        """Called by the JVM."""
        self.result = self._call()

    class Java:
        """Read by py4j."""

        implements: ClassVar = ["scala.Function0"]


FAILED_CALL = (Py4JJavaError, PySparkException)
"""The exceptions of a call that failed in the JVM. PySpark converts some of Java's exceptions."""


def reason_of(error: Exception) -> str:
    """Return the first line of the message of a failed call."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return next((line.strip() for line in str(text).split("\n") if line.strip()), "")


def java_error(jvm: Jvm, error: BaseException) -> JavaObject:
    """Return the Java exception that carries a Python one through the JVM."""
    text = str(error) if isinstance(error, DeltaError) else f"{type(error).__name__}: {error}"
    key = ERRORS.keep(error)
    if not isinstance(error, DeltaError) or not error.error_class or not error.sql_state:
        return jvm.construct(jvm.java_class(_PLAIN_ERROR), text, key)
    named = (text, key, error.error_class, error.sql_state)
    if not isinstance(error, SqlSyntaxError) or not jvm.has_class(_SYNTAX_ERROR):  # not every Spark compiles it
        return jvm.construct(jvm.java_class(_NAMED_ERROR), *named)
    facts = error.facts
    place = (facts.get("statement") or " ", facts.get("line") or 1, facts.get("position") or 0)
    return jvm.construct(jvm.java_class(_SYNTAX_ERROR), *named, *place)


def start(jvm: Jvm) -> bool:
    """Start the callback server if none runs, and close it to other processes.

    Returns:
        Whether callbacks are authenticated. They are not if another part of the program started the server before.
    """
    from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415  (it imports py4j)

    gateway = jvm.gateway
    attributes = vars(gateway)  # py4j would look up a missing attribute in the JVM
    parameters = attributes.get("python_parameters") or attributes["callback_server_parameters"]
    # A Java exception that a callback raises then reaches Spark as itself, not as a string.
    parameters.propagate_java_exceptions = True
    if gateway.gateway_property.pool.next_id < _UNGUESSABLE:
        gateway.gateway_property.pool.next_id = _UNGUESSABLE + secrets.randbits(100)
    if attributes.get("_callback_server") is None:
        parameters.auth_token = gateway.gateway_parameters.auth_token
        _give_token(gateway)  # before the port is open; py4j gives the token to the client's copy
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        _give_token(gateway)  # starting replaced the client by a copy
    return parameters.auth_token is not None


def _give_token(gateway: Any) -> None:
    client = Py4JObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001  (no public way)
    owner = client.getClass()
    while not owner.getName().endswith(".CallbackClient"):
        owner = owner.getSuperclass()
    field = owner.getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, gateway.gateway_parameters.auth_token)
