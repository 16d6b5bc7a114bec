# SPDX-License-Identifier: Apache-2.0
"""Operations in SQL: every form of INSERT, CREATE, ALTER, and what describes a table."""

from __future__ import annotations

from tests.smoke.operations import Place, equal, operation, refused

TWO = ((1, "a"), (2, "b"))


@operation
def insert_values_select_and_columns(on: Place) -> None:
    name, source = on.named(), on.named((2, "b"))
    on.sql(f"insert into {name} values (1, 'a')")
    on.sql(f"insert into table {name} select * from {source}")
    on.sql(f"insert into {name} (v, id) values ('c', 3)")
    on.expect(name, *TWO, (3, "c"))


@operation
def insert_by_name(on: Place) -> None:
    name = on.named()
    on.sql(f"insert into {name} by name select 'a' as v, 1 as id")
    on.expect(name, (1, "a"))


@operation
def insert_overwrite(on: Place) -> None:
    name = on.named(*TWO)
    on.sql(f"insert overwrite {name} values (3, 'c')")
    on.expect(name, (3, "c"))


@operation
def insert_into_a_partition(on: Place) -> None:
    name = on.named(*TWO, by="v")
    on.sql(f"insert into {name} partition (v = 'c') values (3)")
    on.sql(f"insert into {name} partition (v) values (4, 'd')")
    on.expect(name, *TWO, (3, "c"), (4, "d"))


@operation
def insert_overwrite_a_partition(on: Place) -> None:
    name = on.named(*TWO, by="v")
    on.sql(f"insert overwrite {name} partition (v = 'b') values (9)")
    on.expect(name, (1, "a"), (9, "b"))


@operation
def insert_replace_where(on: Place) -> None:
    name = on.named(*TWO)
    on.sql(f"insert into {name} replace where id > 1 values (9, 'z')")
    on.expect(name, (1, "a"), (9, "z"))


@operation
def insert_by_path(on: Place) -> None:
    path = on.saved((1, "a"))
    on.sql(f"insert into delta.`{path}` values (2, 'b')")
    on.expect(path, *TWO)
    on.sql(f"insert overwrite delta.`{path}` select 3, 'c'")
    on.expect(path, (3, "c"))


@operation
def insert_casts_as_spark_does(on: Place) -> None:
    name = on.named()
    refused(lambda: on.sql(f"insert into {name} values ('x', 'y')"), "cast")
    on.sql(f"insert into {name} values (1L, 2)")
    on.expect(name, (1, "2"))


@operation
def insert_from_several_queries(on: Place) -> None:
    first, second, source = on.named(), on.named(), on.named(*TWO)
    on.sql(f"from {source} insert into {first} select * where id = 1 insert into {second} select * where id = 2")
    on.expect(first, (1, "a"))
    on.expect(second, (2, "b"))


@operation
def create_table_as_select(on: Place) -> None:
    name, source = on.name(), on.named(*TWO)
    on.sql(f"create table {name} using delta partitioned by (v) as select * from {source}")
    on.expect(name, *TWO)
    on.sql(f"create or replace table {name} using delta as select 1L as n")
    on.expect(name, (1,))


@operation
def create_clustered_tables(on: Place) -> None:
    names = [on.name() for _ in range(4)]
    on.sql(f"create table {names[0]} (id int, v string) using delta cluster by (id, v) comment 'c'")
    on.sql(f"create table if not exists {names[1]} using delta\ncluster by (ID) as select 1 as id, 'a' as v")
    on.expect(names[1], (1, "a"))
    on.sql(f"create or replace table {names[1]} using delta cluster by (`v`) as select 2 as id, 'b' as v cluster by (id)")
    on.expect(names[1], (2, "b"))
    path = on.path()
    on.sql(f"create table {names[2]} (s struct<x: int>, v string) using delta cluster by (s.x) location '{path}'")
    on.sql(f"create table {names[3]} (id int) using delta cluster by (id)")
    on.sql(f"replace table {names[3]} (n int) using delta cluster by (n)")
    for name, columns in zip(names, (["id", "v"], ["v"], ["s.x"], ["n"]), strict=True):
        found = on.sql(f"describe detail {name}").first().clusteringColumns
        if found != columns:
            raise AssertionError(f"{found} instead of {columns}")
    refused(lambda: on.sql(f"create table {on.name()} (a int) using delta cluster by (a) cluster by (a)"), "cluster by")
    refused(lambda: on.sql(f"create table {on.name()} (a int, b int) using delta cluster by (a) partitioned by (b)"), "cluster by")
    refused(lambda: on.sql(f"create table {on.name()} (a int) using delta cluster by (nothing)"), "nothing")
    refused(lambda: on.sql(f"create table {on.name()} (a int) using delta cluster by (a) foo"), "foo")
    name = on.name()
    plan = on.sql(f"explain create table {name} (a int) using delta cluster by (a)").first()[0]
    if "Create" not in plan or name in {row[1] for row in on.sql("show tables").collect()}:
        raise AssertionError(plan)


@operation
def insert_replaces_rows_that_match(on: Place) -> None:
    name, source = on.named(*TWO, (3, "c")), on.named((2, "B"), (9, "z"))
    on.sql(f"insert into {name} replace using (id) select * from {source}")
    on.expect(name, (1, "a"), (2, "B"), (3, "c"), (9, "z"))
    on.sql(f"with q as (select 9 as id, 'w' as v) insert into {name} replace using (id) select * from q")
    on.sql(f"insert into {name} by name replace using (ID) select 'C' as v, 3 as id")
    on.expect(name, (1, "a"), (2, "B"), (3, "C"), (9, "w"))
    on.sql(f"insert into {name} as a replace on a.id = s.id and a.id > 1 (select 2 as id, 'on' as v) as s")
    on.sql(f"with q as (select 1 as id, 'q' as v) insert into {name} replace on {name}.id >= 9 select * from q")
    on.expect(name, (1, "a"), (1, "q"), (2, "on"), (3, "C"))
    on.sql(f"insert into delta.`{on.saved(*TWO)}` as t replace on (t.id) = (s.id) (values (1, 'x') as s(id, v)) s")
    refused(lambda: on.sql(f"insert into {name} replace using (nothing) values (1, 'a')"), "nothing")
    refused(lambda: on.sql(f"insert into {name} replace on a = 1"), "")
    on.sql(f"explain insert into {name} replace using (id) values (1, 'a')")
    on.expect(name, (1, "a"), (1, "q"), (2, "on"), (3, "C"))


@operation
def create_table_if_not_exists(on: Place) -> None:
    name = on.named((1, "a"))
    on.sql(f"create table if not exists {name} (other bigint) using delta")
    on.expect(name, (1, "a"))


@operation
def create_a_table_at_a_location(on: Place) -> None:
    path, name = on.saved(*TWO), on.name()
    on.sql(f"create table {name} using delta location '{path}'")
    on.expect(name, *TWO)
    on.sql(f"drop table {name}")
    on.expect(path, *TWO)


@operation
def create_table_like(on: Place) -> None:
    name, source = on.name(), on.named(*TWO)
    on.sql(f"create table {name} like {source}")
    on.expect(name)


@operation
def truncate(on: Place) -> None:
    name = on.named(*TWO)
    on.sql(f"truncate table {name}")
    on.expect(name)


@operation
def views(on: Place) -> None:
    name, view = on.named(*TWO), on.name()
    on.sql(f"create view {view} as select id from {name} where v = 'b'")
    equal(on.sql(f"select * from {view}"), [(2,)])
    on.sql(f"insert into {name} values (3, 'b')")
    equal(on.sql(f"select * from {view}"), [(2,), (3,)])


@operation
def alter_columns(on: Place) -> None:
    name = on.named((1, "a"))
    on.sql(f"alter table {name} add columns (n int comment 'number' after id)")
    on.sql(f"insert into {name} values (2, 20, 'b')")
    on.expect(name, (1, None, "a"), (2, 20, "b"))
    on.sql(f"alter table {name} alter column n comment 'count'")
    on.sql(f"alter table {name} set tblproperties ('delta.columnMapping.mode' = 'name')")
    on.sql(f"alter table {name} rename column n to m")
    on.sql(f"alter table {name} drop column v")
    equal(on.sql(f"select m, id from {name}"), [(None, 1), (20, 2)])


@operation
def alter_properties(on: Place) -> None:
    name = on.named((1, "a"))
    on.sql(f"alter table {name} set tblproperties ('delta.appendOnly' = 'true', 'mine' = 'x')")
    refused(lambda: on.sql(f"delete from {name}"), "append")
    on.sql(f"alter table {name} unset tblproperties ('delta.appendOnly')")
    on.sql(f"delete from {name}")
    on.expect(name)


@operation
def check_constraints(on: Place) -> None:
    name = on.named((1, "a"))
    on.sql(f"alter table {name} add constraint positive check (id > 0)")
    refused(lambda: on.sql(f"insert into {name} values (-1, 'x')"), "positive")
    on.sql(f"alter table {name} drop constraint positive")
    on.sql(f"insert into {name} values (-1, 'x')")
    on.expect(name, (1, "a"), (-1, "x"))


@operation
def not_null(on: Place) -> None:
    name = on.name()
    on.sql(f"create table {name} (id int not null, v string) using delta")
    refused(lambda: on.sql(f"insert into {name} values (null, 'x')"), "null")
    on.sql(f"insert into {name} values (1, null)")
    on.expect(name, (1, None))


@operation
def generated_columns(on: Place) -> None:
    name = on.name()
    on.sql(f"create table {name} (id int, twice int generated always as (id * 2)) using delta partitioned by (twice)")
    on.sql(f"insert into {name} (id) values (1), (2)")
    equal(on.read(name).where("id = 2"), [(2, 4)])


@operation
def default_columns(on: Place) -> None:
    name = on.name()
    properties = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    on.sql(f"create table {name} (id int, v string default 'none') using delta {properties}")
    on.sql(f"insert into {name} (id) values (1)")
    on.sql(f"insert into {name} values (2, default)")
    on.expect(name, (1, "none"), (2, "none"))


@operation
def describe_and_show(on: Place) -> None:
    name = on.named((1, "a"), by="v")
    columns = {row[0]: row[1] for row in on.sql(f"describe table {name}").collect()}
    if (columns["id"], columns["v"]) != ("int", "string"):
        raise AssertionError(columns)
    equal(on.sql(f"show columns in {name}"), [("id",), ("v",)])
    if "delta" not in on.sql(f"show create table {name}").first()[0].lower():
        raise AssertionError("SHOW CREATE TABLE does not name delta")
    if name not in {row[1] for row in on.sql("show tables").collect()}:
        raise AssertionError("SHOW TABLES lacks the table")
    if "id" not in {column.name for column in on.spark.catalog.listColumns(name)}:
        raise AssertionError("listColumns lacks a column")


@operation
def comments(on: Place) -> None:
    name = on.named((1, "a"))
    on.sql(f"comment on table {name} is 'orders'")
    described = {row[0]: row[1] for row in on.sql(f"describe table extended {name}").collect()}
    if described.get("Comment") != "orders":
        raise AssertionError(described)


@operation
def functions_that_make_tables(on: Place) -> None:
    name = on.named((1, "a"), (2, "b"), properties=" tblproperties ('delta.enableChangeDataFeed' = 'true')")
    on.sql(f"delete from {name} where id = 1")
    changes = on.sql(f"select id, _change_type from table_changes('{name}', current_timestamp() - interval 1 day)")
    equal(changes, [(1, "delete"), (1, "insert"), (2, "insert")])
    refused(lambda: on.sql(f"select * from table_changes('{name}', null)"), "DELTA_CDC_READ_NULL_RANGE_BOUNDARY")
    last = on.sql(f"describe history {name} limit 1").first().version
    equal(on.sql(f"select version from table_history('{name}') where version > 0 order by version desc limit 1"), [(last,)])
    equal(on.sql(f"select max(version) from (describe history {name} limit 2)"), [(last,)])
    equal(on.sql(f"select count(*) from (describe detail {name}) where format = 'delta'"), [(1,)])
    equal(on.sql(f"select sum(numRecords) - sum(coalesce(deletionVectorCardinality, 0)) from table_files('{name}')"), [(1,)])
    equal(on.spark.newSession().sql(f"select count(*) from table_history('default.{name}')"), [(last + 1,)])


@operation
def versions_at_the_end_of_names(on: Place) -> None:
    name = on.named((1, "a"))
    before = on.sql(f"describe history {name} limit 1").first().version
    on.sql(f"insert into {name} values (2, 'b')")
    equal(on.sql(f"select * from `{name}@v{before}`"), [(1, "a")])
    equal(on.spark.table(f"default.`{name}@v{before}`"), [(1, "a")])
    refused(lambda: on.sql(f"insert into `{name}@v{before}` values (3, 'c')"), "cannot be found")
