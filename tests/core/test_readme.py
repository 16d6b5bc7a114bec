# SPDX-License-Identifier: Apache-2.0
"""The README's commands and code exist; tests/scenarios/spark/ways_in/test_readme.py runs its quick start."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import bayou
from bayou.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, text in BLOCKS if not language for line in text.splitlines()]
COMMANDS += re.findall(r"`((?:pip install '|bayou )[^`]+)`", README)
SITE = re.search(r"^site_url: (.+)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)[1]
MOST_LINES = 167
"""About two screens, once the page is rendered."""


def of_language(language):
    return [text for name, text in BLOCKS if name == language]


def test_the_first_screen_shows_what_it_is_and_how_it_is_installed():
    assert re.match(r"# bayou\n\n(\[!\[[^\n]+\n)+\n[A-Z`\w][^\n]*\.\n\nWith delta-spark:\n", README)
    assert re.findall(r"^With ([\w-]+):$", README, re.MULTILINE) == ["delta-spark", "bayou"]
    first = "\n".join(README.splitlines()[:45])
    assert "pip install 'bayou[spark]'" in first
    assert "Java 17 or 21" in first


def test_the_readme_is_about_two_screens_long():
    assert len(README.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("code", of_language("python"))
def test_python_code_compiles_and_names_what_bayou_has(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bayou":
            assert node.attr in bayou.__all__


def test_links_are_absolute_and_lead_to_pages():
    """The package index shows the README, too: a relative link would be dead there."""
    repository = "https://github.com/bayou-lake/bayou/blob/main/"
    for target in re.findall(r"\]\(([^)\s]+)\)", README):
        assert target.startswith("https://"), target
        if target.startswith(SITE):
            page = target.removeprefix(SITE).partition("#")[0].strip("/")
            assert (ROOT / "docs" / (page if page.endswith(".svg") else f"{page or 'index'}.md")).is_file(), target
        if target.startswith(repository):
            assert (ROOT / target.removeprefix(repository)).is_file(), target


def test_bayou_is_shorter_than_delta_spark():
    theirs, ours = of_language("python")[:2]
    assert "delta" in theirs
    assert len(ours.splitlines()) < len(theirs.splitlines())


def test_every_command_in_a_block_exists(capsys):
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for command in COMMANDS:
        program, name = command.split()[:2]
        if program == "make":
            assert name in targets
        elif program == "bayou":
            with pytest.raises(SystemExit) as left:
                raise SystemExit(main([name, "--help"] if name != "--help" else [name]))
            assert not left.value.code
            assert capsys.readouterr().out.startswith("Usage: bayou")
        else:
            assert re.fullmatch(r"pip install 'bayou\[(spark|cli)\]'", command)
    assert {each.split()[0] for each in COMMANDS} == {"make", "bayou", "pip"}


def test_commands_of_contributors_are_the_last_thing():
    assert README.rindex("\n## ") == README.index("\n## For contributors\n")
    before = README.split("\n## For contributors\n")[0]
    assert "make test" not in before
    assert "make demo" not in before


def test_the_commands_that_make_the_numbers_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    section = README.split("\n## Performance\n")[1].split("\n## ")[0]
    (target,) = re.findall(r"`make ([\w-]+)`", section)
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    rows = re.findall(r"\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", section, re.MULTILINE)
    assert len(rows) == 4
    assert all(round(float(ours) / float(theirs), 2) == float(ratio) for theirs, ours, ratio in rows)
