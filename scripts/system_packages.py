# SPDX-License-Identifier: Apache-2.0
"""Installs system packages where that needs no human: as root, with passwordless sudo, or through brew."""

from __future__ import annotations

import os
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


def install(alternatives: Mapping[str, Sequence[str]]) -> bool:
    """Install the first package that this system's package manager has; True when one was installed.

    Args:
        alternatives: for each package manager, the packages that would do, the best first.
    """
    for manager, (before, command) in MANAGERS.items():
        packages = alternatives.get(manager, ())
        prefix = _prefix(manager)
        if not packages or prefix is None or not shutil.which(manager):
            continue
        for preparation in before:
            _run([*prefix, *preparation])
        for package in packages:
            _say(f"installing {package} with {manager}")
            if _run([*prefix, *command, package]):
                return True
    return False


def _prefix(manager: str) -> list[str] | None:
    """What stands before the command so that it may install; None where it would have to ask someone."""
    if manager == "brew" or os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode == 0:
        return sudo
    return None


def _run(command: Sequence[str]) -> bool:
    """Run a command; its output goes to standard error, because standard output carries the caller's answer."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode == 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
