# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.plan.predicates.literals import literal


@pytest.mark.parametrize(("named", "shown"), [({}, ""), ({"column": "c"}, " for column 'c'")])
def test_the_error_names_the_column_where_there_is_one(named, shown):
    with pytest.raises(InvalidOptionError) as caught:
        literal("x", "integer", **named)
    assert caught.value.message == f"'x' is not a value of type integer{shown}."
