# SPDX-License-Identifier: Apache-2.0
"""Columns, constraints, features and layouts that statements change, in stories."""

from __future__ import annotations

from tests.interop.metadata_statements import DEFAULTS, MAPPED, NESTED, PLAIN, WIDENING, set_properties, table

ALTERED = {
    "add columns": [
        table(NESTED),
        "alter table {t} add columns (x int comment 'new', y string)",
        "alter table {t} add columns (z double first, w date after id)",
        "alter table {t} add columns (s.x int, s.y string first, l.element.x int comment 'deep', m.value.x int after d)",
        "alter table {t} add columns (q struct<a: int comment 'in', b: array<string>>)",
    ],
    "add columns of lengths": [PLAIN, "alter table {t} add columns (v varchar(3), c char(4) comment 'fixed')"],
    "add columns to a mapped table": [
        table(NESTED, **MAPPED),
        "alter table {t} add columns (x int comment 'new', q struct<a: int, b: array<struct<c: int>>>)",
        "alter table {t} add columns (s.x int first, `odd name` int after id)",
    ],
    "add a variant": [PLAIN, "alter table {t} add columns (v variant)"],
    "add a timestamp_ntz": [
        PLAIN,
        set_properties(delta__feature__timestampNtz="supported"),
        "alter table {t} add columns (n timestamp_ntz)",
    ],
    "rename": [
        table("id bigint, p string, s struct<a: int, `b.c`: string>", "partitioned by (p)", **MAPPED),
        "alter table {t} rename column id to key",
        "alter table {t} rename column p to part",
        "alter table {t} rename column s.a to z",
        "alter table {t} rename column s.`b.c` to `d e`",
    ],
    "rename clustering and statistics columns": [
        table("id bigint, name string, x int", "cluster by (id)", delta__dataSkippingStatsColumns="id,name", **MAPPED),
        "alter table {t} rename column id to key",
        "alter table {t} rename column name to label",
        "alter table {t} drop column label",
    ],
    "drop": [
        table(NESTED + ", x int, y int", **MAPPED),
        "alter table {t} drop column x",
        "alter table {t} drop columns (y, s.a)",
        "alter table {t} drop column if exists gone",
    ],
    "comments": [
        table("id bigint, s struct<a: int>, v varchar(3)"),
        "alter table {t} alter column id comment 'the key'",
        "alter table {t} alter column s.a comment 'inner'",
        "alter table {t} alter column v comment 'short'",
        "alter table {t} change column id id bigint comment 'again'",
        "alter table {t} alter column id comment ''",
    ],
    "places": [
        table("a int, b int, c int, s struct<x: int, y: int>"),
        "alter table {t} alter column c first",
        "alter table {t} alter column a after b",
        "alter table {t} alter column s.y first",
    ],
    "not null goes": [
        table("id bigint not null, s struct<a: int not null>"),
        "alter table {t} alter column id drop not null",
        "alter table {t} alter column s.a drop not null",
    ],
    "wider types": [
        table("a tinyint, b int, c float, d decimal(5, 2), s struct<x: short>, l array<int>, m map<short, int>", **WIDENING),
        "alter table {t} alter column a type int",
        "alter table {t} alter column a type bigint",
        "alter table {t} alter column b type double",
        "alter table {t} alter column c type double",
        "alter table {t} alter column d type decimal(10, 3)",
        "alter table {t} alter column s.x type int",
        "alter table {t} alter column l.element type bigint",
        "alter table {t} alter column m.key type int",
        "alter table {t} alter column m.value type bigint",
    ],
    "dates become timestamps": [
        table("d date, n timestamp_ntz", **WIDENING),
        "alter table {t} alter column d type timestamp_ntz",
    ],
    "longer texts": [
        table("v varchar(3), c char(4), d char(2)"),
        "alter table {t} alter column v type varchar(5)",
        "alter table {t} alter column c type varchar(9)",
        "alter table {t} alter column d type string",
    ],
    "defaults": [
        table("a int, b string", **DEFAULTS),
        "alter table {t} alter column a set default 1 + 1",
        "alter table {t} alter column b set default 'x'",
        "alter table {t} alter column a set default 3",
        "alter table {t} alter column a drop default",
    ],
    "replace columns": [
        table("a int, b string, c int"),
        "alter table {t} replace columns (c int, a int comment 'x', b string, d date)",
    ],
    "replace columns of a mapped table": [
        table("a int, b string, c int", **MAPPED),
        "alter table {t} replace columns (c int comment 'kept')",
    ],
    "checks": [
        table("id bigint, Name string"),
        "alter table {t} add constraint Positive check (id >= 0 and name <> 'xy')",
        "alter table {t} add constraint short check (length(name) < 5)",
        "alter table {t} drop constraint POSITIVE",
    ],
    "a check with two quotes": [
        table("name string"),
        "alter table {t} add constraint c check (name <> 'x''y')",
    ],
    "clustering": [
        table("id bigint, name string, s struct<a: int>"),
        "alter table {t} cluster by (id, s.a)",
        "alter table {t} cluster by (name)",
        "alter table {t} cluster by none",
    ],
    "clustering of a mapped table": [
        table("id bigint, name string", "cluster by (id)", **MAPPED),
        "alter table {t} cluster by (name)",
    ],
    "comment on": [
        table("id bigint", "comment 'first'"),
        "comment on table {t} is 'what it''s for'",
        "comment on table {t} is null",
        set_properties(comment="as a property"),
        "alter table {t} unset tblproperties ('comment')",
    ],
}
