# SPDX-License-Identifier: Apache-2.0
"""Files that an operation has made and that are not in the log: they are deleted where the operation fails."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def taking_back(take_back: Callable[[], None]) -> Iterator[None]:
    """What was made is taken back where the block fails, by whatever error. No commit may be tried in the block.

    Args:
        take_back: deletes what was made.
    """
    try:
        yield
    except BaseException:
        take_back()
        raise
