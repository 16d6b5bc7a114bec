# SPDX-License-Identifier: Apache-2.0
"""check_package.py: build the package, check it as an index would, and install the wheel into an empty environment.

The tools are those of the dependency group `package`, in an environment of their own that is kept between runs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cache_folder import cache
from environments import ROOT, environment, group, tomllib

PROGRAM = """
import sys, tempfile
import bayou
from bayou.cli import main

assert "site-packages" in bayou.__file__, bayou.__file__
log = bayou.open(tempfile.mkdtemp())
log.create('{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}')
assert log.version() == 0
try:
    bayou.enable(None)
except ModuleNotFoundError as error:
    assert "pip install 'bayou[spark]'" in str(error), error
else:
    raise AssertionError("PySpark is installed")
assert main(["--help"]) == 1, "click is installed"
assert not {"click", "pyspark", "numpy"} & set(sys.modules)
"""
"""What a user can do who installed bayou without an extra."""


def main() -> int:
    tools = environment(group(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"], "package"))
    with tempfile.TemporaryDirectory(prefix="bayou-package-") as folder:
        out = Path(folder) / "dist"
        _run(tools, "-m", "build", "--outdir", out, ROOT)
        built = sorted(out.iterdir())
        wheel = next(each for each in built if each.suffix == ".whl")
        _run(tools, "-m", "twine", "check", "--strict", *built)
        _run(tools, "-m", "check_wheel_contents", wheel)
        python = Path(folder) / "empty" / "bin" / "python"
        _run(Path(sys.executable), "-m", "venv", python.parents[1])
        _run(python, "-m", "pip", "install", "--quiet", "--cache-dir", cache() / "pip", wheel)
        _run(python, "-I", "-c", PROGRAM)
        print(f"{wheel.name} is sound: {wheel.stat().st_size:,} bytes")
    return 0


def _run(program: Path, *arguments: str | Path) -> None:
    subprocess.run([program, *arguments], check=True, cwd=tempfile.gettempdir())


if __name__ == "__main__":
    sys.exit(main())
