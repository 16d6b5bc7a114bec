# SPDX-License-Identifier: Apache-2.0
"""`delta.exceptions.captured`: the same classes under the name that delta-spark has for those that the JVM raises."""

from __future__ import annotations

from typing import Final

from bayou.as_delta.delta.exceptions.base import *  # noqa: F403  (the same classes)
from bayou.as_delta.delta.exceptions.base import __all__ as __all__  # noqa: PLC0414  (what `import *` gives)

_delta_exception_patched: Final = True
"""Whether PySpark gives such exceptions; it does on every enabled session."""
