# SPDX-License-Identifier: Apache-2.0
"""The command `bayou`: looks at a table's log; starts no JVM and needs no Spark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED = {"click", "rich"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 1 after an error, which is one line on standard error.

    Args:
        arguments: what stands after the command's name; those of the process when None.
    """
    try:
        from bayou.cli.app import run  # noqa: PLC0415  (the hint below is for those who lack the extra)
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write(f"bayou: the command line needs {error.name}: pip install 'bayou[cli]'\n")
        return 1
    return run(arguments)
