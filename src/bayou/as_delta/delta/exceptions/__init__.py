# SPDX-License-Identifier: Apache-2.0
"""`delta.exceptions`: the classes that bayou raises on a session when writers are in each other's way."""

from __future__ import annotations

from bayou.as_delta.delta.exceptions import base as base  # programs reach the modules as attributes, too
from bayou.as_delta.delta.exceptions import captured as captured
from bayou.as_delta.delta.exceptions.base import *  # noqa: F403  (the same classes)
from bayou.as_delta.delta.exceptions.base import __all__ as __all__
