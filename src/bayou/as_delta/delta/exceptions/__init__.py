# SPDX-License-Identifier: Apache-2.0
"""The exception classes of `delta.exceptions`, which bayou raises on a session when writers conflict.

No class is defined here; they come from `bayou.errors` and its conversion to PySpark's exceptions.
"""

from __future__ import annotations

from bayou.as_delta.delta.exceptions import base as base  # programs reach the modules as attributes, too
from bayou.as_delta.delta.exceptions import captured as captured
from bayou.as_delta.delta.exceptions.base import *  # noqa: F403  (the same classes)
from bayou.as_delta.delta.exceptions.base import __all__ as __all__
