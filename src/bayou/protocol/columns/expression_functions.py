# SPDX-License-Identifier: Apache-2.0
"""The SQL functions that expressions stored in a table may call, by kind of expression.

Only listed functions are allowed, because a generation expression, a CHECK constraint or a default may be written by anybody who
can write the table, and runs in the session of its next writer. Operators have no name; those that also have one are listed.

Sources: delta-spark's `AllowedUserProvidedExpressions` (4.4.0), which lists classes of expressions, and the names and aliases of
these classes in Spark's `FunctionRegistry` (4.3.0), except for `json_tuple` and `window`, which return several rows. For defaults,
Spark's `ResolveDefaultColumns`: after the analysis the expression must be a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class ExpressionKind(Enum):
    """The kind of a stored expression."""

    GENERATED_COLUMN = "generated column"
    CHECK_CONSTRAINT = "CHECK constraint"
    COLUMN_DEFAULT = "column default"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERATED_COLUMN_FUNCTIONS: Final = _words(
    """
    abs acos acosh add_months aggregate and array array_contains array_distinct array_except array_intersect array_join
    array_max array_min array_position array_remove array_repeat array_sort array_union arrays_overlap arrays_zip ascii asin
    asinh assert_true atan atan2 atanh base64 between bigint bin binary bit_count bit_length boolean bround cardinality cast
    cbrt ceil
    ceiling char char_length character_length chr coalesce concat concat_ws conv cos cosh cot crc32 date date_add date_diff
    date_format date_part date_sub date_trunc dateadd datediff datepart day dayofmonth dayofweek dayofyear decimal decode
    degrees div double e element_at elt encode exists exp expm1 extract factorial filter find_in_set flatten float floor
    forall format_number format_string from_csv from_json from_unixtime from_utc_timestamp get_json_object greatest hash hex
    hour hypot if ifnull in initcap instr int isnan isnotnull isnull last_day lcase least left len length levenshtein like ln
    locate log log10 log1p log2 lower lpad ltrim make_date make_interval make_timestamp map map_concat map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values map_zip_with md5 minute mod month months_between named_struct nanvl
    negative next_day not now nullif nvl nvl2 octet_length or overlay parse_url pi pmod position positive pow power printf
    quarter radians reduce regexp regexp_extract regexp_like regexp_replace repeat replace reverse right rint rlike round rpad
    rtrim schema_of_csv schema_of_json second sentences sequence sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign
    signum sin sinh size slice smallint sort_array soundex space split sqrt str_to_map string struct substr substring
    substring_index tan tanh timestamp timestampadd timestampdiff tinyint to_csv to_date to_json to_timestamp to_timestamp_ltz
    to_timestamp_ntz to_unix_timestamp to_utc_timestamp transform transform_keys transform_values translate trim trunc typeof
    ucase unbase64 unhex unix_timestamp upper weekday weekofyear when xpath xpath_boolean xpath_double xpath_float xpath_int
    xpath_long xpath_number xpath_short xpath_string xxhash64 year zip_with
    """
)
"""The functions for generation expressions, which are deterministic, except for `now`, which delta-spark allows.

`between` is the operator, which Spark's parser converts to a function since 4.0.
"""

CHECK_CONSTRAINT_FUNCTIONS: Final = GENERATED_COLUMN_FUNCTIONS | _words(
    """
    array_append array_compact array_insert array_prepend array_size contains curdate current_date current_timestamp endswith
    ilike is_variant_null parse_json schema_of_variant startswith to_number try_add try_divide try_multiply try_parse_json
    try_subtract try_to_binary try_to_number try_variant_get variant_get
    """
)
"""The functions for CHECK constraints, which may use the date, since they are evaluated once, when a row is written."""

COLUMN_DEFAULT_FUNCTIONS: Final = CHECK_CONSTRAINT_FUNCTIONS | _words(
    """
    bit_get btrim collate collation convert_timezone csc current_catalog current_database current_schema current_time
    current_timezone current_user date_from_unix_date dayname equal_null from_xml get getbit is_variant_null json_array_length
    json_object_keys localtime localtimestamp luhn_check make_dt_interval make_time make_timestamp_ltz make_timestamp_ntz
    make_ym_interval map_contains_key mask monthname nullifzero parse_json quote regexp_count regexp_extract_all regexp_instr
    regexp_substr schema_of_variant schema_of_xml sec session_user split_part time timestamp_micros timestamp_millis
    timestamp_seconds to_binary to_char to_time to_varchar to_variant_object to_xml try_element_at try_mod try_parse_json
    try_to_date try_to_timestamp try_url_decode try_variant_get unix_date unix_micros unix_millis unix_seconds url_decode
    url_encode user variant_get width_bucket zeroifnull
    """
)
"""The functions for defaults, which include those for the time, the user and the schema, since Spark makes constants of them."""

_FUNCTIONS: Final[Mapping[ExpressionKind, frozenset[str]]] = MappingProxyType(
    {
        ExpressionKind.GENERATED_COLUMN: GENERATED_COLUMN_FUNCTIONS,
        ExpressionKind.CHECK_CONSTRAINT: CHECK_CONSTRAINT_FUNCTIONS,
        ExpressionKind.COLUMN_DEFAULT: COLUMN_DEFAULT_FUNCTIONS,
    }
)

_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "it calls arbitrary Java code": "java_method reflect try_reflect",
        "it sends the rows to a service": "ai_query http_request",
        "it is random": "monotonically_increasing_id rand randn random randstr shuffle spark_partition_id uniform uuid",
        "it depends on the file that a row is read from": "input_file_block_length input_file_block_start input_file_name",
        "it reads files or schemas outside the table": ("from_avro from_protobuf read_files schema_of_avro to_avro to_protobuf"),
        "it depends on the installation": "current_path version",
        "it depends on who writes": (
            "current_catalog current_database current_schema current_timezone current_user session_user user"
        ),
        "it depends on when the row is written": (
            "curdate current_date current_time current_timestamp localtime localtimestamp now"
        ),
        "its result differs from call to call": "aes_encrypt try_aes_encrypt",
        "it makes several rows of one": (
            "explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer session_window stack window"
        ),
        "it stops the query": "raise_error",
        "it looks at more than one row": (
            "any any_value approx_count_distinct avg bool_and bool_or collect_list collect_set count count_if cume_dist"
            " dense_rank every first first_value lag last last_value lead max max_by mean median min min_by mode nth_value"
            " ntile percent_rank percentile rank row_number some std stddev sum try_avg try_sum var_pop var_samp variance"
        ),
    }
)

REFUSED: Final[Mapping[str, str]] = MappingProxyType({name: why for why, names in _REASONS.items() for name in names.split()})
"""Known functions with the reason why they are refused if the list of a kind does not have them."""


def unknown_functions(names: Iterable[str], kind: ExpressionKind) -> tuple[str, ...]:
    """Return the functions that an expression of the kind must not call, each once.

    Args:
        names: the functions that the expression calls, in any case. A qualified name is not a built-in function.
    """
    allowed = _FUNCTIONS[kind]
    return tuple(dict.fromkeys(name for name in names if name.lower() not in allowed))


def refusal(name: str, kind: ExpressionKind) -> str | None:
    """Return why an expression of the kind must not call a function, as part of a sentence; None if it may."""
    lowered = name.lower()
    if lowered in _FUNCTIONS[kind]:
        return None
    return REFUSED.get(lowered, f"it is not among the built-in functions that a {kind.value} may use")
