# SPDX-License-Identifier: Apache-2.0
"""Environments for runs of tests.

They live in BAYOU_CACHE (by default the user's cache folder) under a name made of what they hold, so that a run makes only
those that are not there yet.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cache_folder import cache

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent


def dependencies() -> tuple[str, ...]:
    """What bayou and its tests depend on, except PySpark, from pyproject.toml."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    return (*project["dependencies"], *project["optional-dependencies"]["cli"], *group(content["dependency-groups"], "test"))


def runtime_dependencies() -> tuple[str, ...]:
    """What bayou needs to run with any PySpark, except PySpark itself."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # PySpark 3.5 imports distutils, which Python 3.12 dropped and setuptools brings back.
    extras = content["project"]["optional-dependencies"]
    return (*content["project"]["dependencies"], *extras["s3"], "numpy", "setuptools; python_version >= '3.12'")


def group(groups: Mapping[str, Sequence[str | Mapping[str, str]]], name: str) -> tuple[str, ...]:
    """The requirements of a dependency group, with those of the groups that it includes.

    Args:
        groups: all groups of pyproject.toml.
        name: the group.
    """
    found: list[str] = []
    for each in groups[name]:
        found += [each] if isinstance(each, str) else group(groups, each["include-group"])
    return tuple(found)


def environment(requirements: tuple[str, ...], without_dependencies: tuple[str, ...] = ()) -> Path:
    """The Python of an environment that holds these; made when it is not in the cache, whole or not at all.

    Args:
        requirements: what pip installs.
        without_dependencies: what pip installs without what it depends on.
    """
    base = getattr(sys, "_base_executable", sys.executable)
    described = "\n".join([sys.version, base, *requirements, *without_dependencies])
    folder = cache() / "environments" / hashlib.sha256(described.encode()).hexdigest()[:16]
    python = folder / "bin" / "python"
    complete = folder / ".complete"
    if complete.exists():
        return python
    print(f"\n== making an environment with {', '.join((*requirements, *without_dependencies))}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *requirements], check=True)
    if without_dependencies:
        subprocess.run([*pip, "--no-deps", *without_dependencies], check=True)
    complete.touch()
    return python
