# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE and ALTER TABLE as the stories about metadata have them, and what several of these tables are."""

from __future__ import annotations


def properties(**given):
    """A `tblproperties` clause; two underscores stand for a dot, `on` and `off` for booleans."""
    return "tblproperties (" + ", ".join(f"'{key.replace('__', '.')}' = '{value}'" for key, value in given.items()) + ")"


def table(columns, *clauses, **given):
    """A CREATE TABLE statement."""
    return " ".join([f"create table {{t}} ({columns}) using delta", *clauses, *([properties(**given)] if given else [])])


def named(columns, *clauses, **given):
    """A CREATE TABLE statement of a table with a name."""
    return table(columns, "location '{p}'", *clauses, **given).replace("{t}", "{n}")


def set_properties(**given):
    return f"alter table {{t}} set {properties(**given)}"


PLAIN = table("id bigint, name string")
MAPPED = {"delta__columnMapping__mode": "name"}
WIDENING = {"delta__enableTypeWidening": "true"}
DEFAULTS = {"delta__feature__allowColumnDefaults": "supported"}
NESTED = "id bigint, s struct<a: int, b: string>, l array<struct<c: int>>, m map<string, struct<d: int>>"
