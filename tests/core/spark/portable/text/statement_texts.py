# SPDX-License-Identifier: Apache-2.0
"""Statements that do not change rows, and texts that look as if they did."""

from __future__ import annotations

CHANGES = {
    "DELETE FROM delta.`/a` AS t WHERE a = ';' and b in (select 1)": "Delete",
    "with s as (select 1 where x), u as (select 2) delete from t x": "Delete",
    "delete from t": "Delete",
    "update a.b t set t.`x y` = case when a then 1 else 2 end, z = DEFAULT, w == f(a, b)[1] where c = 1": "Update",
    "merge into t using delta.`/s@v1` s on t.a = s.a when not matched then insert (a) values (1)": "Merge",
    "merge into t using (select 1 a) on a when matched and case when b then c end then delete": "Merge",
    "merge into t a using s on a.b = s.b when not matched by source then update set b = case when c then 1 end, d = 2": "Merge",
    "merge with schema evolution into t using s on true when matched then update set * when not matched then insert *": "Merge",
    "insert into t values (1), (2)": "Insert",
    "insert into table t (a, `b c`) select * from u": "Insert",
    "insert overwrite t partition (p = 1, q = 'x') if not exists table u": "Insert",
    "insert into t by name from u select a": "Insert",
    "insert into t replace where a > 1 and b in (1, 2) select 1": "Insert",
    "insert into t x replace on x.a = s.a (select 1) s": "Insert, which only newer parsers take",
    "insert into t replace using (a, b) values (1, 2)": "Insert, which only newer parsers take",
}
"""Statements that change rows, and what they are read as."""

OTHERS = [
    "select 1",
    "with a as (select 1) select * from a",
    "create table t (a int)",
    "insert overwrite directory '/a' using parquet select 1",
    "from t select *",
    "",
]
UNREADABLE = [
    "delete from t where",
    "delete from t where a, b",
    "delete from t version as of 1 where a",
    "delete from 'a'",
    "update t set",
    "update t set a where b",
    "update t set a = 1, where b",
    "update t set a = 1 where b) c",
    "merge into t using s",
    "merge into t using s on",
    "merge into t using s on a when matched then",
    "merge into t using s on a when matched then insert *",
    "merge into t using s on a when not matched then insert (a, b) values (1)",
    "merge into t using s on a when matched then update set a = (1",
    "insert into t",
    "insert into t (a, b)",
    "insert into t replace where select 1",
    "delete from t; delete from u",
    "delete from t /* a",
]
