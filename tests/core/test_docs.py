# SPDX-License-Identifier: Apache-2.0
"""The documentation says what the code does, as far as a test can tell."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from scripts import error_catalogue
from tests.support.cases import in_one_test
from tests.support.sources import FILES, SOURCE, nodes_of
from tests.support.sources import text_of as code_of

from bayou.protocol import properties
from bayou.protocol.feature_matrix import feature_matrix

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"])
PREFIX = "spark.databricks.delta."
REGENERATE = "python scripts/feature_matrix.py"


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def strings_with(part):
    """All strings in the code that hold a text, docstrings among them."""
    nodes = (node for file in FILES if part in code_of(file) for node in nodes_of(file))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str) and part in node.value]


def anchors_of(page):
    """The headings of a page as the anchors that links name."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@in_one_test("page", PAGES)
def test_the_code_that_pages_name_is_there(page):
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|java))(?:: (\w+))?(?:\.(\w+))?`", text_of(page))
    places = [
        (next((each for each in (SOURCE / path, ROOT / path) if each.is_file()), None), path, names) for path, *names in named
    ]
    assert not [path for file, path, _ in places if file is None]
    defined = {file: set(re.findall(r"\w+", code_of(file))) for file, _, _ in places}
    assert not [f"{path}: {name}" for file, path, names in places for name in filter(None, names) if name not in defined[file]]


def test_the_feature_matrix_is_what_the_code_gives_today():
    between = text_of("docs/features.md").split("<!-- feature matrix: begin -->\n")[1].split("<!-- feature matrix: end -->")[0]
    assert between.strip() == feature_matrix().strip(), f"docs/features.md is out of date; run: {REGENERATE}"


def test_the_page_says_how_the_feature_matrix_is_made():
    assert REGENERATE in text_of("docs/features.md")


def test_the_page_of_errors_is_what_the_catalogue_gives_today():
    assert text_of("docs/errors.md") == error_catalogue.page(), f"docs/errors.md is out of date; run: {error_catalogue.COMMAND}"


def test_a_setting_is_called_honoured_where_the_code_reads_it_and_nowhere_else():
    read = {found[len(PREFIX) :] for found in strings_with(PREFIX) if re.fullmatch(re.escape(PREFIX) + r"[\w.]+", found)}
    section = text_of("docs/settings.md").split("\n## Honoured\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    said = {name.partition("<")[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert said == read


def test_no_setting_is_in_both_tables():
    honoured, ignored = text_of("docs/settings.md").split("\n## Honoured\n")[1].split("\n## Accepted without effect\n")
    names = [{*re.findall(r"^\| `([^`]+)`", part, re.MULTILINE)} for part in (honoured, ignored.split("\n## ")[0])]
    assert all(names)
    assert not names[0] & names[1]


def test_a_property_is_called_without_effect_where_no_code_reads_it_and_nowhere_else():
    protocol = ROOT / "src" / "bayou" / "protocol"
    checked = {protocol / "properties.py", protocol / "evolution" / "property_values.py"}  # every property is in these
    used = {node.attr for file in FILES if file not in checked for node in nodes_of(file) if isinstance(node, ast.Attribute)}
    known = {name: each for name, each in vars(properties).items() if isinstance(each, properties.TableProperty)}
    read_for_others = {each.older_key for each in known.values()}
    unread = {each.key for name, each in known.items() if name not in used and each.key not in read_for_others}
    section = text_of("docs/settings.md").split("\n## Table properties without effect\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)} == unread


@in_one_test("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors_of(linked), target


def test_error_classes_are_those_of_the_code():
    code = " ".join(map(code_of, (*FILES, *(ROOT / "tests").rglob("*.py"))))
    known = set(re.findall(r"DELTA_[A-Z_.]+", code))
    pages = ("docs/schemas.md", "docs/constraints.md", "docs/features.md")
    named = {each for page in pages for each in re.findall(r"`(DELTA_[A-Z_.]+)`", text_of(page))}
    assert named - known == set()
