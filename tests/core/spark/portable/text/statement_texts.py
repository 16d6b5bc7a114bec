# SPDX-License-Identifier: Apache-2.0
"""Statements that do not change rows, and texts that look as if they did."""

from __future__ import annotations

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
