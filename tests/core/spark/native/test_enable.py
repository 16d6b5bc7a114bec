# SPDX-License-Identifier: Apache-2.0
"""What `enable` does to Python's logging."""

from __future__ import annotations

import logging

import pytest

from bayou.spark.native.enable import _quiet_py4j


@pytest.mark.parametrize(("given", "level"), [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_py4j_is_quiet_unless_the_program_set_its_level(given, level):
    logger = logging.getLogger("py4j")
    before = logger.level
    try:
        logger.setLevel(given)
        _quiet_py4j()
        assert logger.level == level
    finally:
        logger.setLevel(before)
