# SPDX-License-Identifier: Apache-2.0
"""Read the errors of calls into the JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import FAILED_CALL, java_error, reason_of
from bayou.spark.jvm.core.exceptions import causes, message_of, thrown_by
from bayou.spark.jvm.core.signatures import missing_call
from bayou.spark.jvm.gateway import Py4JError, Py4JJavaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.errors import DeltaError
    from bayou.spark.jvm.core.bridge import JavaObject


FAILED: Final = FAILED_CALL
"""The exceptions of a failed call."""
reason: Final = reason_of
"""Returns the first line of the message of a failed call."""


class DeltaPy4JError(Py4JJavaError):  # type: ignore[misc]
    """The py4j exception that programs written for delta-spark catch, if PySpark does not convert delta-spark's Java exception."""

    errmsg = ""

    @property
    def java_exception(self) -> JavaObject | None:
        """The Java exception that py4j throws in the JVM if this error leaves a callback."""
        jvm = Jvm.running()
        return None if jvm is None else java_error(jvm, self)

    @property
    def exception_cmd(self) -> str:
        """None, because no call into the JVM failed."""
        return ""


def explained(error: Exception) -> DeltaError | None:
    """Return the error for a method that this Spark lacks, or None for other failed calls."""
    if not isinstance(error, Py4JError) or isinstance(error, Py4JJavaError):
        return None
    jvm = Jvm.running()
    return None if jvm is None else missing_call(jvm.spark_version_text, error)


def messages(error: Exception) -> Iterator[str]:
    """Yield the messages of the Java exceptions behind an error, the outermost first."""
    return map(message_of, causes(thrown_by(error)))
