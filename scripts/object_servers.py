# SPDX-License-Identifier: Apache-2.0
"""Prints the program of a server of object stores: azurite (Azure), versitygw (S3), or fake-gcs-server (Google Cloud Storage).

The program is installed once, through npm or by Go's compiler. If that fails, the script says why on stderr and prints nothing: the
tests on that server are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cache_folder import cache

AZURITE = "3.35.0"
MODULES = {
    "versitygw": "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
    "fake-gcs-server": "github.com/fsouza/fake-gcs-server@v1.56.1",
}
# Go compiles each server in about a minute on two cores.
TIMEOUT = 900


def main() -> None:
    name = sys.argv[1] if len(sys.argv) == 2 else ""  # noqa: PLR2004  (the script and a name)
    providers: dict[str, Callable[[Path], Path]] = {
        "azurite": azurite,
        **dict.fromkeys(MODULES, lambda folder: compiled(folder, name)),
    }
    if name not in providers:
        sys.exit(f"usage: object_servers.py {' | '.join(providers)}")
    try:
        print(providers[name](cache()))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the tests on {name} are skipped: it cannot be installed ({error})", file=sys.stderr)


def azurite(folder: Path) -> Path:
    """The program in the cache folder; npm installs it if it is missing."""
    place = folder / f"azurite-{AZURITE}"
    program = place / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        command = [found("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(place), f"azurite@{AZURITE}"]
        install(f"azurite {AZURITE} with npm", place, command)
    return program


def compiled(folder: Path, name: str) -> Path:
    """The program in the cache folder; Go compiles it if it is missing."""
    module = MODULES[name]
    place = folder / f"{name}-{module.rpartition('@v')[2]}"
    program = place / name
    if not program.exists():
        install(f"{module} with go", place, [found("go"), "install", module], {"GOBIN": str(place)})
    return program


def found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        message = f"{program} is not there"
        raise OSError(message)
    return path


def install(what: str, place: Path, command: list[str], environment: dict[str, str] | None = None) -> None:
    print(f"\n== installing {what}", file=sys.stderr, flush=True)
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True, stdout=sys.stderr, timeout=TIMEOUT, env={**os.environ, **(environment or {})})


if __name__ == "__main__":
    main()
