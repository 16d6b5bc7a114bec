# SPDX-License-Identifier: Apache-2.0
"""The environment of contributors is made with the pip that a Python brings, which may not know dependency groups."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_venv.py"
FAKE_PYTHON = """#!/bin/sh
case "$*" in
  "-m pip --version") exit 0;;
  "-m pip install --help") cat {folder}/help; exit 0;;
esac
echo "$*" >> {folder}/noted
case "$*" in *"pip>="*) exit {upgrade};; esac
"""
UPGRADE = "-m pip install --quiet pip>=25.1"
INSTALL = "-m pip install --quiet -e .[spark,cli] --group dev"


@pytest.mark.parametrize(
    ("options", "upgrade", "code", "expected"),
    [
        ("--requirement --editable", 0, 0, [UPGRADE, INSTALL]),
        ("--requirement --group", 0, 0, [INSTALL]),
        ("--requirement", 1, 1, [UPGRADE]),
    ],
    ids=["old pip", "new pip", "no index"],
)
def test_an_older_pip_is_upgraded_first(tmp_path, options, upgrade, code, expected):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(FAKE_PYTHON.format(folder=tmp_path, upgrade=upgrade))
    python.chmod(0o755)
    (tmp_path / "help").write_text(options)
    run = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stderr
    assert (tmp_path / "noted").read_text().splitlines() == expected
