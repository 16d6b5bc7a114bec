# SPDX-License-Identifier: Apache-2.0
"""changed_tests.py [BASE]: prints the test folders and files that mirror what differs from BASE (main if it is not given).

`src/bayou/log/commit/` is tested in `tests/core/log/commit/`, `src/bayou/spark/dml/` in `tests/spark/dml/` and
`tests/core/spark/dml/`. A folder without a mirror is tested in the nearest folder above it that has one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = PurePosixPath("src/bayou")
TESTED_ELSEWHERE = {
    "tests/support": ("tests",),
    "tests/errors": ("tests/core/test_error_snapshots.py",),
    "tests/smoke": (),  # `make smoke` runs it
    "scripts": ("tests/core/scripts",),
    "docs": ("tests/core/test_docs.py",),
    "src/bayou/spark/maintenance": ("tests/spark/alter",),
}
"""Folders that no folder of tests mirrors, and what tests them."""


def main() -> int:
    print(*suites_of(changed_files(sys.argv[1] if len(sys.argv) > 1 else "main")))
    return 0


def changed_files(base: str) -> list[str]:
    """The paths that differ from where this branch left `base`, with uncommitted and new files."""
    changed = _git("diff", "--name-only", "--diff-filter=d", "--merge-base", base)
    return sorted({*changed, *_git("ls-files", "--others", "--exclude-standard")})


def suites_of(paths: Iterable[str], root: Path = ROOT) -> list[str]:
    """What pytest is to run for changed paths, without what lies in a folder that it runs anyway."""
    found = {suite for path in paths for suite in _suites_of(PurePosixPath(path), root)}
    return sorted(str(each) for each in found if not found & set(each.parents))


def _suites_of(path: PurePosixPath, root: Path) -> Iterator[PurePosixPath]:
    for folder, suites in TESTED_ELSEWHERE.items():
        if path.is_relative_to(folder):
            yield from map(PurePosixPath, suites)
            return
    if path.name.startswith("test_") and path.suffix == ".py":
        yield path
    elif path.parts[0] == "tests" and path.suffix == ".py":
        yield path.parent  # a helper
    elif path.is_relative_to(SOURCE):
        room = path.parent.relative_to(SOURCE)
        yield _nearest(PurePosixPath("tests/core") / room, root)
        if room.parts[:1] == ("spark",):
            yield _nearest(PurePosixPath("tests/spark", *room.parts[1:]), root)


def _nearest(folder: PurePosixPath, root: Path) -> PurePosixPath:
    while not (root / folder).is_dir():
        folder = folder.parent
    return folder


def _git(*command: str) -> list[str]:
    return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


if __name__ == "__main__":
    sys.exit(main())
