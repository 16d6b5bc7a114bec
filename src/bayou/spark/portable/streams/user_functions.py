# SPDX-License-Identifier: Apache-2.0
"""Enable bayou in the functions that programs give to `foreachBatch`, which run in a Python process of the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.serializers import CloudPickleSerializer

from bayou.errors import failed
from bayou.spark.portable.streams.package import installer, packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.connect import proto

_REASON: Final = "{reason}"
_MARK: Final = b"bayou:user-function"
"""Part of each function that is sent, so that a request that is sent again is not changed again."""


def enable_in_function(command: proto.WriteStreamOperationStart) -> None:
    """Change the function of a stream that starts, in place, so that the sessions that it uses read and write Delta tables.

    The function contains the package, as that of a stream into a table. If bayou cannot be enabled in the server's Python, the
    function runs nevertheless, because it may not need bayou. If it fails then, the error also has the reason.
    """
    if not command.HasField("foreach_batch") or not command.foreach_batch.HasField("python_function"):
        return
    function = command.foreach_batch.python_function
    if _MARK not in function.command:
        serializer: Any = cast("Any", CloudPickleSerializer)()
        function.command = serializer.dumps(_Sent(packed(), function.command, str(failed("batch-function", reason=_REASON))))


@dataclass(frozen=True)
class _Sent:
    """A function with the package. Where it is unpickled, it is the function of `_loader`."""

    package: bytes
    function: bytes
    message: str

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _loader(), (self.package, self.function, self.message, _MARK)


def _loader() -> Callable[..., Any]:
    """Return what unpickles a function and enables bayou before each of its calls. It needs nothing of this module."""
    install = installer()

    def load(package: bytes, command: bytes, message: str, mark: bytes) -> Callable[[Any, int], None]:
        import importlib  # noqa: PLC0415  (the process has none of this module's imports)
        import pickle  # noqa: PLC0415

        del mark
        install(package)
        # Sessions are unpickled as the active one, which is the program's session now, and may be another one in a batch.
        function = pickle.loads(command)  # noqa: S301  (the program's own)
        of_program = importlib.import_module("pyspark.sql.connect.session").SparkSession.getActiveSession()

        def call(frame: Any, number: int) -> None:
            problem: Exception | None = None
            try:
                bayou = importlib.import_module("bayou")
                for session in filter(None, (of_program, frame.sparkSession)):
                    bayou.enable(session)
            except Exception as error:  # noqa: BLE001  (such as a library that this Python does not have)
                problem = error
            try:
                function(frame, number)
            except Exception as error:
                if problem is None:
                    raise
                reason = f"{type(problem).__name__}: {problem}"
                raise RuntimeError(message.replace("{reason}", reason)) from error

        return call

    return load
