# SPDX-License-Identifier: Apache-2.0
"""The quick start of the README prints what the README says, and can be pasted twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[4] / "README.md").read_text(encoding="utf-8")
SECTION = README.split("\n## Quick start\n")[1].split("\n## ")[0]
(CODE,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
(PRINTED,) = re.findall(r"```text\n(.*?)```", SECTION, re.DOTALL)
PATH = '"/tmp/orders"'


def later(printed, versions):
    """The same tables after so many further versions: only the numbers in the history differ."""
    return re.sub(r"^\|( *\d+)(\| *[A-Z]+\|)$", lambda row: f"|{int(row[1]) + versions:7}{row[2]}", printed, flags=re.MULTILINE)


@pytest.mark.smoke
def test_the_quick_start_prints_what_the_readme_says_and_can_be_pasted_twice(spark, table_path, capsys):
    assert CODE.count(PATH) == 1
    code = compile(CODE.replace(PATH, repr(table_path)), "README.md", "exec")
    names = {}
    exec(code, names)
    assert capsys.readouterr().out.strip() == PRINTED.strip()
    exec(code, names)
    assert later(PRINTED, 2) != PRINTED
    assert capsys.readouterr().out.strip() == later(PRINTED, 2).strip()
    assert names["spark"] is spark
