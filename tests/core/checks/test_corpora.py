# SPDX-License-Identifier: Apache-2.0
"""Published tables of other projects: each finding has a reason, and each table that no reader can read has a finding.

The tables lie outside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import json

import bayou
from bayou.errors import TableNotFoundError

OF_RULES = {
    "checksum-required": "Older writers write checksum files without protocol and metadata.",
    "commit-info-exists": "A project wrote the log by hand, or with a writer that adds no commitInfo.",
    "checkpoint-multi-part": "The table is there to test multi-part checkpoints.",
}
"""Why a rule finds something in several tables that are read alike by all engines."""

BY_HAND = "The log was written or edited by hand to test one thing."
UNREADABLE = "The table is there because no reader can read it."
REASONS = {
    (BY_HAND, "delta/golden/deltalog-getChanges"): "cdc-enabled cdc-folder partition-keys",
    (BY_HAND, "kernel-rs/data/table-with-cdf"): "cdc-folder partition-keys",
    (BY_HAND, "kernel-rs/history/deltalog-getChanges"): "cdc-folder partition-keys feature-lists",
    (BY_HAND, "kernel-rs/data/parsed-stats"): "checkpoint-heads-equal-commits",
    (BY_HAND, "kernel-rs/data/parquet_row_group_skipping"): "checkpoint-heads-equal-commits checkpoint-part-hash",
    ("The writer shared the parts out in another way.", "kernel-rs/data/v1-multi-part-partitioned-struct-stats-only"): (
        "checkpoint-part-hash"
    ),
    (BY_HAND, "trino/deltalake/checksum_invalid_json_mapping"): "checksum-heads",
    (BY_HAND, "trino/deltalake/checksum_invalid_json"): "checksum-json",
    (BY_HAND, "delta/spark/transaction_log_schema_evolvability"): (
        "commit-info-unknown-action log-field-type log-one-action-per-line"
    ),
    (BY_HAND, "delta-go/history/metadata_broken"): "file-extended-metadata file-remove-of-unknown",
    (BY_HAND, "delta-go/history/metadata_false"): "file-extended-metadata file-remove-of-unknown",
    (BY_HAND, "delta-go/history/metadata_true"): "file-extended-metadata file-remove-of-unknown",
    (BY_HAND, "delta/golden/corrupted-last-checkpoint-kernel"): "hint-json",
    (BY_HAND, "delta/history/conditionally-read-add-stats"): "stats-json",
    (BY_HAND, "kernel-rs/history/timestamp-nanos"): "schema-known-type",
    (BY_HAND, "trino/deltalake/unsupported_writer_version"): "feature-lists protocol-known",
    ("The commit times were set back after the checksums were written.", "delta-rs/data/cdc_ict_table"): (
        "checksum-in-commit-timestamp ict-increases"
    ),
    ("The compacted files keep canceled actions and cdc actions.", "kernel-rs/data/compacted-log-files-table"): (
        "compaction-equals-commits compaction-no-commit-info"
    ),
    ("The writer kept stats and tags of tombstones.", "delta-rs/history/simple_table_with_stats_parsed_optimized"): (
        "checkpoint-remove-fields"
    ),
    ("The protocol (1, 7) has columnMapping for writers only.", "dat/out/reader_tests/generated/iceberg_compat_v1/delta"): (
        "feature-reader-writer mapping-feature"
    ),
    ("An old writer kept the metadata of a feature without the feature.", "delta/spark/dbr_8_0_non_generated_columns"): (
        "generated-feature"
    ),
    ("An old writer kept the metadata of a feature without the feature.", "delta/spark/identity_test_written_by_version_5"): (
        "identity-feature"
    ),
    ("The invariant is SQL without the JSON around it.", "trino/databricks122/invariants_writer_feature"): "invariant-expression",
    ("A hint is older than a checkpoint that was added by hand.", "delta-rs/err_logs/table_g"): "hint-latest log-contiguous",
    ("The hint counts the sidecar files in another way.", "kernel-rs/data/v2-classic-checkpoint-json"): "hint-size",
    ("A commit was deleted, and a checkpoint covers it.", "delta-rs/err_logs/table_b"): "log-contiguous",
    (
        "REPLACE TABLE gives the table a new id.",
        "trino/databricks164/test_write_checkpoint_on_schema_change",
    ): "metadata-id-is-stable",
    ("Properties have the names of variables of a template.", "trino/deltalake/write_stats_as_json_column_mapping_name"): (
        "property-boolean"
    ),
    (
        "Properties have the names of variables of a template.",
        "trino/deltalake/write_stats_as_json_partition_column_mapping_name",
    ): ("property-boolean"),
    (
        "Properties have the names of variables of a template.",
        "trino/deltalake/write_stats_as_json_partition_column_mapping_none",
    ): ("property-boolean"),
    ("A preview allowed decimals without 10 digits before the point.", "kernel-rs/data/type-widening"): "widening-supported",
    ("Each line ends with an x.", "trino/databricks73/person"): "log-json log-starts-with-protocol",
    ("Each line ends with an x.", "trino/databricks73/person_test_pruning"): "log-json log-starts-with-protocol",
    ("Each line ends with an x.", "trino/databricks73/person_without_checkpoints"): "log-json log-starts-with-protocol",
    ("Each line ends with an x.", "trino/databricks73/person_without_last_checkpoint"): "log-json log-starts-with-protocol",
    ("Each line ends with an x.", "trino/databricks73/person_without_old_jsons"): "log-json",
}
"""Why a rule finds something in one table."""

MUST_FAIL = {
    "DATA_FILE_MISSING": {"data-file-exists", "footer-types"},
    "DV_FILE_MISSING": {"dv-format-exists"},
    "NO_METADATA": {"checkpoint-has-protocol", "log-starts-with-protocol"},
    "NO_PROTOCOL": {"checkpoint-has-protocol", "log-starts-with-protocol"},
    "VERSION_GAP": {"log-contiguous"},
    "UNSUPPORTED_READER_VERSION": {"protocol-known"},
}
"""The rules that find why a table cannot be read. Other reasons are those of a reader: a version or a feature that it lacks."""


def tables(corpora):
    """The tables by path, with the reason why reading them must fail."""
    found = {}
    for line in (corpora / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if (corpora / case["path"]).is_dir():
            error = case["expect"].get("error") if case["kind"] == "error" else None
            found[case["path"]] = found.get(case["path"]) or (error if error in MUST_FAIL else None)
    return found


def rules_of(path, **looks):
    return {each.rule for each in bayou.check(path, **looks).findings}


def test_each_finding_has_a_reason(corpora):
    known = {table: set(rules.split()) for (_, table), rules in REASONS.items()}
    found = {}
    for path, error in tables(corpora).items():
        try:
            found[path] = rules_of(corpora / path) - OF_RULES.keys() if error is None else set()
        except TableNotFoundError:
            continue
    assert {path: rules for path, rules in found.items() if rules} == {path: known[path] for path in found if path in known}


def test_each_table_that_must_fail_is_found(corpora):
    failing = {path: error for path, error in tables(corpora).items() if error}
    found = {path: rules_of(corpora / path, files=True, footers=error == "DATA_FILE_MISSING") for path, error in failing.items()}
    assert {path: found[path] for path, error in failing.items() if not found[path] & MUST_FAIL[error]} == {}
    assert set(failing.values()) == MUST_FAIL.keys()
