# SPDX-License-Identifier: Apache-2.0
"""Sizes, durations and ages in units for people."""

from __future__ import annotations

import time
from typing import Final

_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEPS: Final = ((365 * 86_400, "years"), (30 * 86_400, "months"), (86_400, "days"), (3_600, "hours"), (60, "min"))
"""The units of an age in seconds, the longest first."""


def size_text(size_bytes: int | None) -> str | None:
    """Return a number of bytes in the largest unit that fits, such as 12.3 MiB. None stays None."""
    if size_bytes is None:
        return None
    amount = float(size_bytes)
    for unit in _BYTES:
        if amount < 1024 or unit == _BYTES[-1]:  # noqa: PLR2004  (the step between two units)
            break
        amount /= 1024
    return f"{size_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"


def count_text(count: int, what: str) -> str:
    """Return a number of things with their name, such as `1 file` or `12,000 files`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def duration_text(seconds: float) -> str:
    """Return a duration, such as 1.4 s, 42 s or 3 min 5 s."""
    if seconds < 9.95:  # noqa: PLR2004  (below it, a tenth of a second is worth reading)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def age_text(timestamp_ms: int | None, now: float | None = None) -> str | None:
    """Return how long ago a time was, such as 3 days ago. None stays None.

    Args:
        timestamp_ms: the time, in ms since the epoch.
        now: the present time in seconds since the epoch; the clock's if None.
    """
    if timestamp_ms is None:
        return None
    seconds = (time.time() if now is None else now) - timestamp_ms / 1000
    is_past, seconds = seconds >= 0, abs(seconds)
    for step, unit in _STEPS:
        if seconds >= step:
            count = int(seconds // step)
            span = f"{count} {unit.removesuffix('s') if count == 1 else unit}"
            break
    else:
        span = f"{int(seconds)} s"
    return f"{span} ago" if is_past else f"in {span}"
