# SPDX-License-Identifier: Apache-2.0
"""make_venv.py DIR: a virtual environment in which bayou is installed (editable) with all that development needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import system_packages

GROUPS_PIP = "pip>=25.1"
"""The first pip that installs the dependency groups of pyproject.toml."""


def main() -> int:
    folder = Path(sys.argv[1])
    python = folder / "bin" / "python"
    if not _works(python) and not _create(folder):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        print(
            f"`{sys.executable} -m venv` does not work here: install the package that holds it "
            f"(on Debian and Ubuntu python3-venv or python{version}-venv).",
            file=sys.stderr,
        )
        return 1
    print(f"installing bayou and its tools into {folder} (a few minutes the first time: PySpark is large)", flush=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    # An older pip does not know dependency groups; the one that comes with a Python is often older.
    upgraded = _knows_groups(python) or subprocess.run([*pip, GROUPS_PIP], check=False).returncode == 0
    return subprocess.run([*pip, "-e", ".[spark,cli]", "--group", "dev"], check=False).returncode if upgraded else 1


def _works(python: Path) -> bool:
    return python.exists() and _succeeds([str(python), "-m", "pip", "--version"])


def _knows_groups(python: Path) -> bool:
    shown = subprocess.run([python, "-m", "pip", "install", "--help"], capture_output=True, text=True, check=False).stdout
    return "--group" in shown


def _create(folder: Path) -> bool:
    """Make the environment; Debian's Python comes without `ensurepip`, so offer to install that if it is missing."""
    command = [sys.executable, "-m", "venv", "--clear", str(folder)]
    if _succeeds(command):
        return True
    named = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return system_packages.install("venv", {"apt-get": [named, "python3-venv"]}) and _succeeds(command)


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
