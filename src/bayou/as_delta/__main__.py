# SPDX-License-Identifier: Apache-2.0
"""`python -m bayou.as_delta program.py ...`: run a program written for delta-spark as `python program.py` would."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from bayou import install_as_delta


def main() -> None:
    """Install bayou as delta-spark and run the program that the first argument names (or `-m` and a module)."""
    arguments = sys.argv[1:]
    if not arguments or (arguments[0] == "-m" and len(arguments) == 1):
        raise SystemExit("usage: python -m bayou.as_delta (program.py | -m module) [argument ...]")
    install_as_delta()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
