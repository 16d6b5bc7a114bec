# SPDX-License-Identifier: Apache-2.0
"""`python -m bayou` is the command `bayou`."""

from __future__ import annotations

import runpy
import sys

import pytest


def test_python_m_runs_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bayou", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("bayou", run_name="__main__")
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("bayou, version ")


def test_python_m_says_what_to_install(monkeypatch, capsys):
    for name in [*filter(lambda each: each.split(".")[0] == "click" or each.startswith("bayou.cli"), sys.modules)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.setattr(sys, "argv", ["bayou", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("bayou", run_name="__main__")
    assert left.value.code == 1
    assert "pip install 'bayou[cli]'" in capsys.readouterr().err
