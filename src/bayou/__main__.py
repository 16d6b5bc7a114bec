# SPDX-License-Identifier: Apache-2.0
"""`python -m bayou` is the command `bayou`."""

from __future__ import annotations

import sys

from bayou.cli import main

if __name__ == "__main__":
    sys.exit(main())
