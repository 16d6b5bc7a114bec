# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.plan.predicates.literals import literal


@pytest.mark.parametrize(("column", "shown"), [("", ""), ("c", " for column 'c'")])
def test_the_error_names_the_column_where_there_is_one(column, shown):
    with pytest.raises(InvalidOptionError) as caught:
        literal("x", "integer", column=column)
    assert caught.value.message == f"'x' is no value of type integer{shown}."
