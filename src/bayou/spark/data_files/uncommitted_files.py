# SPDX-License-Identifier: Apache-2.0
"""Deletes what an operation has made where it fails before its commit."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def taking_back(take_back: Callable[[], None]) -> Iterator[None]:
    """What was made is taken back where the block fails, by whatever error. No commit may be tried in the block."""
    try:
        yield
    except BaseException:
        take_back()
        raise
