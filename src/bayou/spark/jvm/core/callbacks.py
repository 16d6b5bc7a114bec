# SPDX-License-Identifier: Apache-2.0
"""Python objects that the JVM calls, and the port through which it does.

py4j's callback port listens on loopback and PySpark leaves it without authentication, so any local process could call the
Python objects behind it. `start` closes that: the port asks for the gateway's own token, and object ids cannot be guessed.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar

from py4j.java_gateway import JavaObject as Py4JObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from bayou.errors import DeltaError, SqlSyntaxError
from bayou.spark.jvm.core.signatures import missing_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.errors import AnalysisException

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_KEPT_ERRORS = 64
"""How many recent errors are kept for the moment at which PySpark converts the Java exception that stands for them."""


_PLAIN_ERROR = "bayou.DeltaError"
_NAMED_ERROR = "bayou.NamedError"
_SYNTAX_ERROR = "bayou.SyntaxError"
JAVA_ERRORS = frozenset({_PLAIN_ERROR, _NAMED_ERROR, _SYNTAX_ERROR})
"""The Java exceptions that carry Python's."""
_INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
_UNGUESSABLE = 1 << 100
"""Names of Python objects that the JVM may call are numbers from here on, plus as many random bits."""


class Errors:
    """Python exceptions on their way through the JVM, by key. Bounded: the newest are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, BaseException] = OrderedDict()

    def keep(self, error: BaseException) -> str:
        """Keeps an exception and returns its key."""
        key = secrets.token_hex(8)
        self._kept[key] = error
        while len(self._kept) > _KEPT_ERRORS:
            self._kept.popitem(last=False)
        return key

    def get(self, key: str) -> BaseException | None:
        """The exception of that key, if it is still kept."""
        return self._kept.get(key)


ERRORS = Errors()
"""The errors of this process; a py4j callback and the conversion of its exception may run in different threads."""


class _Callback:
    """What all callbacks share: they raise Java exceptions that carry the Python one's key."""

    def __init__(self, jvm: Jvm, function: Callable[..., Any]) -> None:
        self._jvm = jvm
        self._function = function

    def _call(self, *arguments: Any) -> Any:
        try:
            return self._function(*arguments)
        except Py4JJavaError:
            raise
        except PySparkException as error:
            origin = getattr(error, "_origin", None)  # what the JVM threw, where the JVM threw it
            raise Py4JJavaError("", origin if origin is not None else java_error(self._jvm, error)) from error
        except KeyboardInterrupt as error:  # of a statement that Ctrl-C stopped; it is raised again where the JVM was called
            raise Py4JJavaError("", java_error(self._jvm, error)) from error
        except Exception as error:
            missing = missing_call(self._jvm.spark_version_text, error) if isinstance(error, Py4JError) else None
            if missing is not None:
                raise Py4JJavaError("", java_error(self._jvm, missing)) from error
            interruption = _interruption(error)
            raise Py4JJavaError("", interruption or java_error(self._jvm, error)) from error


def _interruption(error: BaseException) -> JavaObject | None:
    """What Java threw where a thread was interrupted, as a streaming query's is that is stopped: Spark knows it for no failure."""
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
    """A Python function without arguments as Scala's `Function0`: a by-name block. Its result stays on the Python side."""

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
"""What a call into the JVM raises that failed there: PySpark turns some of Java's exceptions into its own."""


def error_class_of(error: AnalysisException) -> str:
    """The error class of an error of Spark's, under the name that its version has for it; empty where it has none."""
    found = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return found or ""


def reason_of(error: Exception) -> str:
    """The first line of what a failed call says."""
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
    """Starts the callback server where none runs, and closes it to other processes.

    Returns:
        Whether callbacks are authenticated: not so where another part of the program started the server before.
    """
    gateway = jvm.gateway
    known = vars(gateway)  # an attribute that is not there would be looked for in the JVM
    parameters = known.get("python_parameters") or known["callback_server_parameters"]
    # A Java exception that a callback raises then reaches Spark as itself, not as text.
    parameters.propagate_java_exceptions = True
    if gateway.gateway_property.pool.next_id < _UNGUESSABLE:
        gateway.gateway_property.pool.next_id = _UNGUESSABLE + secrets.randbits(100)
    if known.get("_callback_server") is None:
        parameters.auth_token = gateway.gateway_parameters.auth_token
        _give_token(gateway)
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        _give_token(gateway)  # starting replaced the client
    return parameters.auth_token is not None


def _give_token(gateway: Any) -> None:
    client = Py4JObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001  (no public way)
    owner = client.getClass()
    while not owner.getName().endswith(".CallbackClient"):
        owner = owner.getSuperclass()
    field = owner.getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, gateway.gateway_parameters.auth_token)
