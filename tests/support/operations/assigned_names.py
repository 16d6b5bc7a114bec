# SPDX-License-Identifier: Apache-2.0
"""MERGE clauses by what they set where the schema may change: what the table has, what the source brings, what neither has.

Each with a query for the table `t`, a source `s`, and what comes of it: columns and rows, or the class of the error.
"""

from __future__ import annotations

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
NUMBERS = "select id, v from values (1, 1), (2, 2) as (id, v)"
STRUCTS = "select id, named_struct('a', id) t from values (1), (2) as (id)"
MORE = "(values (1, 10, 'x'), (3, 30, 'y') as s(id, v, extra))"
FIELDS = "(select 1 id, named_struct('a', 5, 'b', 6) t, 9 b)"
TAKEN = {
    "a field that the table's alias could be": (STRUCTS, FIELDS, "t.b = s.b", "id t", [(1, (1, 9)), (2, (2, None))]),
    "a field that is there": (STRUCTS, FIELDS, "t.a = s.t.a", "id t", [(1, (5,)), (2, (2,))]),
    "a column by the source's alias": (NUMBERS, MORE, "s.v = s.v", "id v", [(1, 10), (2, 2)]),
    "a new column by the source's alias": (NUMBERS, MORE, "s.extra = s.extra", "id v extra", [(1, 1, "x"), (2, 2, None)]),
    "columns in capitals": (NUMBERS, MORE, "EXTRA = s.extra, V = s.v", "id v extra", [(1, 10, "x"), (2, 2, None)]),
    "a name with a dot": (NUMBERS, "(select 1 id, 3 `a.b`)", "`a.b` = s.`a.b`", "id v a.b", [(1, 1, 3), (2, 2, None)]),
    "a field of a new struct": (NUMBERS, FIELDS, "t.b = 7", "id v t", [(1, 1, (7,)), (2, 2, None)]),
    "a new field by the source's alias": (STRUCTS, FIELDS, "s.t.b = 7", "id t", [(1, (1, 7)), (2, (2, None))]),
}
REFUSED = {
    "a new column by the table's alias": (
        NUMBERS,
        MORE,
        "matched then update set t.extra = 1",
        "DELTA_MERGE_UNRESOLVED_EXPRESSION",
    ),
    "a new column without a match": (
        *(NUMBERS, MORE, "matched then update set extra = s.extra when not matched by source then update set extra = 'z'"),
        "DELTA_MERGE_UNRESOLVED_EXPRESSION",
    ),
    "nobody's column": (NUMBERS, MORE, "not matched then insert (id, other) values (1, 2)", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
    "a column twice": (NUMBERS, MORE, "matched then update set v = 1, s.v = 2", "DELTA_CONFLICT_SET_COLUMN"),
    "an inserted field": (
        *(STRUCTS, FIELDS, "not matched then insert (id, t.b) values (1, 2)"),
        "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
    ),
    "a field of an array": (
        *(NUMBERS, "(select 1 id, array(named_struct('a', 1)) l)", "matched then update set l.a = array(1)"),
        "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
    ),
}
