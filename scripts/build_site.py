# SPDX-License-Identifier: Apache-2.0
"""build_site.py: build the documentation site into build/site, and fail on a warning, such as a dead link.

Zensical and what it needs are the dependency group `docs`, in an environment of their own that is kept between runs.
"""

from __future__ import annotations

import subprocess
import sys

from environments import ROOT, environment, group, tomllib


def main() -> int:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    python = environment(group(content["dependency-groups"], "docs"))
    return subprocess.run([python, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
