# SPDX-License-Identifier: Apache-2.0
"""Prints azurite's program, which serves Azure's Blob storage on this machine; fetched once through npm.

Where it cannot be fetched, it says so on stderr and prints nothing: the tests that need it are skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from cache_folder import cache

VERSION = "3.35.0"
TIMEOUT = 300


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the tests on Azure's storage are skipped: azurite cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path) -> Path:
    """The program in the folder of what is fetched, after fetching it when it is not there yet."""
    place = folder / f"azurite-{VERSION}"
    program = place / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            message = "npm is not there"
            raise OSError(message)
        print(f"\n== fetching azurite {VERSION} with npm", file=sys.stderr, flush=True)
        place.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"azurite@{VERSION}"]
        subprocess.run(command, check=True, stdout=sys.stderr, timeout=TIMEOUT)
    return program


if __name__ == "__main__":
    main()
