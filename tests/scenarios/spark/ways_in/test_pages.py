# SPDX-License-Identifier: Apache-2.0
"""Every Python block of the documentation runs as it stands, and prints what the page shows below it.

Tables by name are in a database of the page's own.
"""

from __future__ import annotations

import pytest
from tests.support.pages import PAGES, blocks_of, check_blocks, name_of


@pytest.fixture
def database(spark):
    """A current database that is the page's own."""
    spark.sql("CREATE DATABASE pages")
    spark.sql("USE pages")
    yield
    spark.sql("USE default")
    spark.sql("DROP DATABASE pages CASCADE")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("database")
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_blocks(page, tmp_path, capsys)


def test_there_are_pages_with_blocks():
    assert len(PAGES) > 15
    assert all(blocks_of(page) for page in PAGES)
