# SPDX-License-Identifier: Apache-2.0
"""The errors of creating and altering tables, and of types on a session."""

from __future__ import annotations

from typing import Final

TABLES: Final = """
TABLE_OR_VIEW_ALREADY_EXISTS TableExistsError
    Cannot create table or view {relation} because it already exists.
    Next: Use createIfNotExists, or createOrReplace.
TABLE_OR_VIEW_ALREADY_EXISTS/clone-by-name TableExistsError
    Cannot create table or view {relation} because it already exists.
    Next: Choose another name, or replace the table with replace=True.
TABLE_OR_VIEW_NOT_FOUND/replace TableNotFoundError
    The table or view {relation} cannot be found, and so cannot be replaced.
    Next: Use createOrReplace.
DELTA_NOT_A_DELTA_TABLE/exists TableExistsError
    {relation} is not a Delta table.
    Next: Please drop this table first if you would like to recreate it.
DELTA_CLONE_AMBIGUOUS_TARGET InvalidOptionError
    The clone's path is given twice: by its name {table}, and as LOCATION {location}.
    Next: Leave LOCATION out, or give the clone a name.
DELTA_INVALID_CLONE_PATH InvalidOptionError
    The target location for CLONE needs to be an absolute path or table name, and {table!r} is a relative path.
    Next: Use an absolute path instead of {table}.
DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION InvalidOptionError
    Table name or location has to be specified.
DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH InvalidOptionError
    Creating path-based Delta table with a different location isn't supported: the identifier is {table}, the location {location}.
    Next: Leave the location out.
DELTA_TABLE_LOCATION_MISMATCH InvalidOptionError
    The location of the existing table {relation} is {table}, and not the specified location {location}.
    Next: Leave the location out, or drop the table first.
DELTA_CREATE_TABLE_SCHEME_MISMATCH InvalidSchemaError
    The specified schema does not match the existing schema at {table}: {columns} and {existing}.
    Next: Leave the columns out, or describe them as they are.
DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING InvalidSchemaError
    The specified partitioning does not match the existing partitioning at {table}: {columns} and {existing}.
DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY InvalidOptionError
    The specified properties do not match the existing properties at {table}: {properties}.
DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN InvalidSchemaError
    A function without a name, as in {expression!r}, cannot be used in a generated column.
    Next: Compute the value where the rows are written.
row-tracking-backfill-disabled UnsupportedFeatureError
    Row ids cannot be given to the files of an existing table, because {setting} is false.
    Next: Set it to true.
setting-not-positive InvalidOptionError
    {option} is {value!r}, and should be a positive number.
argument-type InvalidOptionError
    {needs} but got '{kind}'.
DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE InvalidOptionError
    Unable to upgrade only the reader protocol version to use table features.
    Next: Give the writer version {required}, too.
DELTA_UNSET_NON_EXISTENT_PROPERTY InvalidOptionError
    Attempted to unset non-existent property '{option}' in table {table}.
    Next: Check the key, or use ifExists.
PARSE_SYNTAX_ERROR/column-path InvalidOptionError
    {column!r} is not the path of one column.
    Next: Put backticks around names that are not identifiers, or give the names as a list.
column-position InvalidOptionError
    A column cannot be both first and after another one.
    Next: Give first or after.
DELTA_FEATURE_DROP_CHECKPOINT_FAILED UnsupportedFeatureError
    Dropping {features} stops, because a checkpoint cannot be written: {reason}.
    Next: Find out why, and drop the feature again.
DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL UnsupportedFeatureError
    Cannot drop {features}, because a concurrent transaction used it: {traces}.
    Next: Drop it again.
DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER InvalidOptionError
    Cannot change the location of a path based table.
    Next: Read and write the other path, since only a name in the catalog can be pointed to another folder.
DELTA_MISSING_DELTA_TABLE/location TableNotFoundError
    {table} is not a Delta table, so that no name can be pointed to it.
    Next: Write the table first.
DELTA_SET_LOCATION_SCHEMA_MISMATCH InvalidSchemaError
    The schema of the new Delta location is different than the current table schema: the original schema is {schema}, and the
    destination schema is {destination}.
    Next: If this is intended, drop the name and create it there, or set {setting}=true.
column-types InvalidOptionError
    Schema must be StructType or a list of StructField.
    Next: Give PySpark's types, or SQL such as 'a int, b string'.
column-metadata InvalidSchemaError
    The metadata of a column have a value that JSON cannot represent: {reason}.
    Next: Give strings, numbers, booleans, None, and lists and dictionaries of these.
column-type InvalidOptionError
    Column data type must be str or DataType.
DELTA_OPERATION_NOT_ALLOWED/computed-column InvalidSchemaError
    The column {column!r} has {key} in its metadata, which an existing table cannot have.
    Next: Define generated and identity columns when the table is created.
type-syntax SqlSyntaxError
    {given!r} cannot be parsed: {reason}.
    Next: Give SQL such as 'a int, b string' for columns, and 'bigint' for a type.
DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA UnsupportedFeatureError
    Unable to operate on this table because an unsupported type change was applied. Field {column} was changed from {from_type} to
    {to_type}.
    Next: Read a version before the change, or use the engine that changed the type.
DELTA_UNSUPPORTED_DATA_TYPES/spark UnsupportedFeatureError
    Spark {spark_version} does not know {types}, which the column {column!r} has.
nested-field-missing UnsupportedFeatureError
    The nested field {column!r} is not in the table's schema.
default-not-possible InvalidSchemaError
    The default {expression!r} of column {column!r} is not possible: {reason}.
    Next: Give a constant of the column's type, such as 0 or current_timestamp().
DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES/empty InvalidSchemaError
    A column{place} has an empty name.
    Next: Give the column a name.
delta-imported SessionError
    A module `delta` is imported already, from {place}, so that bayou cannot replace it any more.
    Next: Call bayou.install_as_delta() before the first `import delta`.
"""
