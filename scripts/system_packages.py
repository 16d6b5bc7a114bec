# SPDX-License-Identifier: Apache-2.0
"""Installs system packages with the system's package manager, if the user agrees.

At a terminal the user is asked. Without one nothing is installed, and the command is printed, unless a variable of the
environment agrees: `INSTALL_JAVA=1` for Java, the same for each other program, or `CI=true` for all of them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# For each package manager: the commands before an installation, and the installation; in the order of preference.
MANAGERS: Mapping[str, tuple[Sequence[Sequence[str]], Sequence[str]]] = {
    "apt-get": ([["apt-get", "update", "-q"]], ["apt-get", "install", "-y", "-q", "--no-install-recommends"]),
    "dnf": ([], ["dnf", "install", "-y", "-q"]),
    "apk": ([], ["apk", "add", "-q"]),
    "brew": ([], ["brew", "install", "-q"]),
}
_YES = {"1", "true", "yes", "y"}


def install(program: str, alternatives: Mapping[str, Sequence[str]]) -> bool:
    """Install the first package that this system's package manager has, if the user agrees; True when one was installed.

    Args:
        program: what is installed, in one word: the variable that agrees is named after it.
        alternatives: for each package manager, the packages that would do, the best first.
    """
    manager = next((each for each in MANAGERS if alternatives.get(each) and shutil.which(each)), None)
    if manager is None:
        return False
    before, command = MANAGERS[manager]
    packages = alternatives[manager]
    prefix = _prefix(manager)
    if not _agreed(program, " ".join([*prefix, *command, packages[0]])):
        return False
    for preparation in before:
        _run([*prefix, *preparation])
    return any(_run([*prefix, *command, package]) for package in packages)


def _agreed(program: str, command: str) -> bool:
    """Whether the user agrees to the command: by a variable, or by an answer at the terminal."""
    variable = f"INSTALL_{program.upper()}"
    if os.environ.get(variable, os.environ.get("CI", "")).strip().lower() in _YES:
        _say(f"installing {program}: {command}")
        return True
    if not _is_terminal():
        _say(f"{program} is missing. This command installs it:\n  {command}\nTo let `make` run the command, set {variable}=1.")
        return False
    _say(f"{program} is missing. This command installs it:\n  {command}\nRun it now? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in _YES


def _is_terminal() -> bool:
    """Whether somebody can answer. Standard output is not looked at: it carries the caller's answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _prefix(manager: str) -> list[str]:
    """The words before the command that let it install; without a terminal sudo must not ask for a password."""
    if manager == "brew" or os.geteuid() == 0:
        return []
    return ["sudo"] if _is_terminal() else ["sudo", "-n"]


def _run(command: Sequence[str]) -> bool:
    """Run a command; its output goes to standard error, because standard output carries the caller's answer."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode == 0
    except OSError as error:
        _say(f"{shlex.join(command)}: {error}")
        return False


def _say(text: str, end: str = "\n") -> None:
    print(text, file=sys.stderr, end=end, flush=True)
