# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of the documentation run unchanged on Spark Connect: the variable SPARK_REMOTE alone names the server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.pages import PAGES, check_blocks, name_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer

BY_NAME = {"changing_rows", "constraints", "create", "maintenance", "schemas", "sql"}
"""Pages with tables by name, which the catalog of a stock server refuses."""
OF_CONNECT = {"connect"}
"""Its blocks say which server they need."""


@pytest.mark.parametrize("page", [each for each in PAGES if each.stem not in BY_NAME | OF_CONNECT], ids=name_of)
def test_the_blocks_of_a_page_run_and_print_what_it_shows(
    spark: SparkSession, server: ConnectServer, page: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", server.url)
    monkeypatch.setattr(type(spark), "_default_session", spark)  # what `getOrCreate` of the page returns
    monkeypatch.chdir(tmp_path)
    check_blocks(page, tmp_path, capsys)
