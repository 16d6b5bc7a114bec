# SPDX-License-Identifier: Apache-2.0
"""`python -m bayou` is the command `bayou`."""

from __future__ import annotations

import subprocess
import sys

# In processes of their own: pytest 9 loads a package that has a plugin by a loader without `get_code`, which runpy calls.
WITHOUT_CLICK = """
import runpy, sys
sys.modules["click"] = None
sys.argv = ["bayou", "--version"]
runpy.run_module("bayou", None, "__main__")
"""


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_python_m_runs_the_command():
    done = run("-m", "bayou", "--version")
    assert (done.returncode, done.stdout.startswith("bayou, version ")) == (0, True)


def test_python_m_says_what_to_install():
    done = run("-c", WITHOUT_CLICK)
    assert done.returncode == 1
    assert "pip install 'bayou[cli]'" in done.stderr
