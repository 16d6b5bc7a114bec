# SPDX-License-Identifier: Apache-2.0
"""DEFAULT stands for the default of its column where it is a whole value, and is text elsewhere."""

from __future__ import annotations

import pytest

from bayou.spark.portable.commands.default_values import may_be_columns, with_defaults

QUERIES = {
    "values (1, default)": "values (1, <1>)",
    "VALUES (DEFAULT, 2), (f(1, 2), Default)": "VALUES (<0>, 2), (f(1, 2), <1>)",
    "values default, 1, default": "values <0>, 1, <0>",
    "values (1, 'default', `default`)": "values (1, 'default', `default`)",
    "values (1, f(default))": "values (1, f(default))",
    "values (1, default + 1)": "values (1, default + 1)",
    "values (1, /* , */ default) -- default": "values (1, /* , */ <1>) -- default",
    "select 1, f(1, 2), default": "select 1, f(1, 2), <2>",
    "select default as a, 2 from t": "select <0> as a, 2 from t",
    "select a, default from t where b in (1, default)": "select a, <1> from t where b in (1, default)",
    "select t.*, default from t": "select t.*, default from t",
    "select 1, default where true": "select 1, <1> where true",
    "select default limit 1": "select <0> limit 1",
    "(values (1, default), (default, 2))": "(values (1, <1>), (<0>, 2))",
    "((select 1, default))": "((select 1, <1>))",
    "select * from values (1, default) as x(a, b)": "select * from values (1, <1>) as x(a, b)",
    "select * from (values (1, default))": "select * from (values (1, default))",
    "select a from (select 1 as a, default)": "select a from (select 1 as a, default)",
    "select default, 1 union all select default, 2": "select default, 1 union all select default, 2",
    "(select default) except (select 1)": "(select default) except (select 1)",
    "select default from (select 1 union select 2)": "select <0> from (select 1 union select 2)",
    "table default": "table default",
    "": "",
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_default_is_replaced_by_the_value_of_its_column(query):
    assert with_defaults(query, lambda column: f"<{column}>") == QUERIES[query]


MAY_BE_COLUMNS = {
    "select id, default from t": True,
    "(select default from t limit 1)": True,
    "select default where exists (select 1 from t)": True,
    "select 1 as default, default": True,
    "select 1 `default`, default": True,
    "select id, default": False,
    "select id, `default` from t": False,
    "select id, default + 1 from t": False,
    "select * from values (1, default)": False,
    "values (1, default), ((select 1 from t), 2)": False,
    "": False,
}


@pytest.mark.parametrize("query", MAY_BE_COLUMNS)
def test_only_a_query_of_tables_may_have_a_column_default(query):
    assert may_be_columns(query) is MAY_BE_COLUMNS[query]
