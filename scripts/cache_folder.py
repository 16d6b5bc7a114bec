# SPDX-License-Identifier: Apache-2.0
"""Where environments and JARs are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """The folder: BAYOU_CACHE, by default bayou's own in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("BAYOU_CACHE") or Path(base) / "bayou")
