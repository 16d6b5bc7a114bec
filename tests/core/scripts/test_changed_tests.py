# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from scripts.changed_tests import suites_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("path", "suites"),
    [
        ("src/bayou/log/commit/attempts.py", ["tests/core/log/commit"]),
        ("src/bayou/spark/dml/merge/second_pass.py", ["tests/core/spark/dml/merge", "tests/spark/dml/merge"]),
        ("src/bayou/spark/jvm/java/host/Python.java", ["tests/core/spark/jvm", "tests/spark/jvm"]),
        ("src/bayou/errors/__init__.py", ["tests/core"]),
        ("tests/core/log/commit/test_outcomes.py", ["tests/core/log/commit/test_outcomes.py"]),
        ("docs/settings.md", ["tests/core/test_docs.py"]),
        ("tests/support/observing.py", ["tests"]),
        ("src/bayou/spark/maintenance/rewrite.py", ["tests/spark/alter"]),
        ("tests/smoke/program.py", []),
        ("README.md", []),
    ],
)
def test_a_change_is_tested_where_its_folder_is_mirrored(path, suites):
    assert suites_of([path], ROOT) == suites


def test_a_file_is_not_named_beside_its_folder():
    assert suites_of(["src/bayou/errors/__init__.py", "tests/core/test_layers.py"], ROOT) == ["tests/core"]
