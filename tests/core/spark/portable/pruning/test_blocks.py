# SPDX-License-Identifier: Apache-2.0
"""The conditions of blocks, found in SQL without Spark."""

from __future__ import annotations

import pytest

from bayou.spark.portable.pruning.blocks import blocks_in
from bayou.spark.portable.text.queries import read_query
from bayou.spark.portable.text.tokens import words


def conditions(text):
    """The conditions on each table, by its alias."""
    found = blocks_in(text, words(text), read_query(text))
    return {table.alias or "": [each.text for each in table.conditions] for table in found.values() if table.conditions}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select 1 from a where x = 1", {"": ["x = 1"]}),
        ("select 1 from a t, b u where x = 1 order by y", {"t": ["x = 1"], "u": ["x = 1"]}),
        ("select 1 from a t join b u on p = q where x = 1", {"t": ["p = q", "x = 1"], "u": ["p = q", "x = 1"]}),
        ("select 1 from a t left join b u on p = q where x = 1", {"t": ["x = 1"], "u": ["p = q"]}),
        ("select 1 from a t right outer join b u on p = q where x = 1", {"t": ["p = q"], "u": ["x = 1"]}),
        ("select 1 from a t full join b u on p = q where x = 1", {}),
        ("select 1 from a t left semi join b u on p = q where x = 1", {"t": ["p = q", "x = 1"], "u": ["p = q"]}),
        ("select 1 from a t left anti join b u on p = q where x = 1", {"t": ["x = 1"], "u": ["p = q"]}),
        ("select 1 from a t left join b u on p join c w on q where x", {"t": ["q", "x"], "u": ["p"], "w": ["q", "x"]}),
        ("select 1 from a t join b u on p right join c w on q where x", {"t": ["p", "q"], "u": ["p", "q"], "w": ["x"]}),
        ("select 1 from (a t left join b u on p), c w where x", {"t": ["x"], "u": ["p"], "w": ["x"]}),
        ("select 1 from a t where x union select 2 from b u where y", {"t": ["x"], "u": ["y"]}),
        ("with c as (select 1 from a t where x) select * from c w where y", {"t": ["x"], "w": ["y"]}),
        ("select * except (x) from a t where y", {"t": ["y"]}),
        (
            "select (select 1 from a t where x) from b u where y in (select 1 from c w where z)",
            {"t": ["x"], "u": ["y in (select 1 from c w where z)"], "w": ["z"]},
        ),
        ("select extract(day from x) from a t where trim(both from y) = 'z'", {"t": ["trim(both from y) = 'z'"]}),
    ],
)
def test_a_condition_belongs_to_the_tables_whose_rows_it_decides(text, found):
    assert conditions(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "select 1 from a tablesample (10 percent) where x = 1",
        "select 1 from a lateral view explode(y) e as z where x = 1",
        "select 1 from a pivot (max(x) for y in (1, 2)) where x = 1",
        "select 1 from a as t(x, y) where x = 1",
        "select 1 from a natural join b where x = 1",
        "select 1 from (a join b) t where x = 1",
        "from a select x where x = 1",
        "select 1 except from a select x where x = 1",
        "from a |> where x = 1",
        "select 1 from a |> where x = 1",
        "select 1 from a where x = 1 something",
        "select 1 from a where",
        "select 1 from a",
        "table a",
    ],
)
def test_what_is_not_certain_has_no_conditions(text):
    assert conditions(text) == {}
