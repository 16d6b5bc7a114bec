# SPDX-License-Identifier: Apache-2.0
"""What contributors and users install: the groups and extras of pyproject.toml, as the scripts read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = CONTENT["project"], CONTENT["dependency-groups"]


@pytest.fixture
def environments(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import environments

    return environments


def names(requirements):
    return [re.match(r"[\w.-]+", each)[0] for each in requirements]


def test_a_group_has_what_its_own_groups_have(environments):
    groups = {"a": ["one>=1", {"include-group": "b"}], "b": ["two", {"include-group": "c"}], "c": ["three; python_version > '3'"]}
    assert environments.group(groups, "a") == ("one>=1", "two", "three; python_version > '3'")


def test_environments_of_the_matrix_hold_what_bayou_and_its_tests_need_but_no_pyspark(environments):
    found = names(environments.dependencies())
    assert {"pyarrow", "click", "rich", "pytest", "hypothesis", "deltalake"} <= set(found)
    assert not {"pyspark", "bayou", "mypy"} & set(found)


def test_what_contributors_need_is_in_groups_and_not_offered_to_users():
    assert set(PROJECT["optional-dependencies"]) == {
        *("spark", "connect", "cli", "pandas", "polars", "report", "s3", "gcs", "azure", "all")
    }
    assert set(GROUPS) == {"test", "dev", "docs", "package"}
    assert {"include-group": "test"} in GROUPS["dev"]


def test_no_requirement_names_bayou_itself():
    """A group is installed without the project: pip would look for a released bayou."""
    extras = {name: each for name, each in PROJECT["optional-dependencies"].items() if name != "all"}
    lists = [PROJECT["dependencies"], *extras.values(), *GROUPS.values()]
    every = [each for one in lists for each in one if isinstance(each, str)]
    assert "bayou" not in names(every)


def test_the_extra_all_has_every_other_extra_but_the_client():
    """PySpark and its client have the same package, so that one of them overwrites the files of the other."""
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"bayou[{','.join(name for name in extras if name not in {'all', 'connect'})}]"


def test_a_session_shows_progress_with_the_extra_that_users_install_for_spark():
    assert {"pyspark", "numpy", "rich"} == set(names(PROJECT["optional-dependencies"]["spark"]))


def test_the_classifiers_name_the_pythons_of_the_readme():
    classified = re.findall(r"Python :: 3\.(\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert list(map(int, classified)) == list(range(10, 15))
    assert PROJECT["requires-python"] == f">=3.{classified[0]}"
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Spark versions\n")[1].split("\n## ")[0]
    assert set(re.findall(r"\b3\.(1\d)\b", table)) <= set(classified)
    assert f"3.{classified[-1]}" in table


def test_links_of_the_package_are_those_of_one_repository():
    urls = PROJECT["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    site = re.search(r"^site_url: (.+)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert all(each.startswith((urls["Homepage"], site)) for each in urls.values())
    inside = [each.partition("/main/")[2] for each in urls.values() if "/main/" in each]
    assert len(inside) == 1
    assert all((ROOT / each).exists() for each in inside)
    assert PROJECT["authors"] == [{"name": "The bayou developers"}]
