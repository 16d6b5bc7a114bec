# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidCommitError
from bayou.protocol.actions.action_checks import check_action
from bayou.protocol.actions.actions import AddFile


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("values", [{}, {"p": "x", "q": None}, {Text("p"): Text("x")}])
def test_partition_values_are_texts_or_null(values):
    action = AddFile("a", values, 1, 1)
    assert check_action(action, "t") is action


@pytest.mark.parametrize("values", [None, [], {"p": 1}, {1: "x"}, {None: "x"}, {b"p": Text("x")}])
def test_other_partition_values_are_refused(values):
    with pytest.raises(InvalidCommitError, match="partition_values"):
        check_action(AddFile("a", values, 1, 1), "t")
