# SPDX-License-Identifier: Apache-2.0
"""`python -m bayou.cli` is the command `bayou`."""

from __future__ import annotations

import sys

from bayou.cli import main

sys.exit(main())
