# SPDX-License-Identifier: Apache-2.0
"""The plugin keeps pytest from rewriting the assertions of all of bayou, which costs time at the first import."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.testing import plugin


@pytest.fixture
def registered(monkeypatch):
    """The names that the plugin asks pytest to rewrite."""
    names = []
    monkeypatch.setattr(pytest, "register_assert_rewrite", lambda *given: names.extend(given))
    return names


def manager(marked):
    return SimpleNamespace(rewrite_hook=SimpleNamespace(_must_rewrite=marked))


def test_only_the_testing_package_is_rewritten(registered):
    marked = {"bayou", "other"}
    plugin.pytest_addoption(manager(marked))
    assert marked == {"other"}
    assert registered == ["bayou.testing"]


def test_what_is_not_marked_stays_as_it_is(registered):
    for unmarked in (manager({"other"}), SimpleNamespace(rewrite_hook=SimpleNamespace())):
        plugin.pytest_addoption(unmarked)
    assert not registered


def test_this_pytest_marks_packages_where_the_plugin_looks(pytestconfig):
    assert isinstance(pytestconfig.pluginmanager.rewrite_hook._must_rewrite, set)
