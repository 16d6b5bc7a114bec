# SPDX-License-Identifier: Apache-2.0
"""The command `bayou`: history, detail, schema, files and log of a table, printed as tables or JSON.

Nothing here imports PySpark. Only `versions` starts `java`, to read its version.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bayou.cli.process import INTERRUPTED, exits_when_interrupted, open_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED = {"click", "rich"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    The code is 0 after success, and 1 after an error, which is one line on standard error. If the reader of the output has closed
    it, the code is 1, and after Ctrl-C it is 130; both print nothing.

    Args:
        arguments: the arguments after the command's name; those of the process if None.
    """
    try:
        if arguments is None:
            exits_when_interrupted()
        with open_streams() as has_output:
            code = _run(arguments)
            return code if has_output else code or 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command line if its libraries are installed. Otherwise explain how to install them, and return 1."""
    try:
        from bayou.cli.app import run  # noqa: PLC0415  (the hint below is for those who lack the extra)
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write(f"bayou: the command line needs {error.name}: pip install 'bayou[cli]'\n")
        return 1
    return run(arguments)
