# SPDX-License-Identifier: Apache-2.0
"""The normative sentences of PROTOCOL.md, in its order: the rules that check each one, or the reason why none can."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sentence:
    """A normative sentence of PROTOCOL.md.

    Attributes:
        section: the section.
        text: the sentence, abridged.
        rules: the ids of the rules that check it.
        reason: why no rule checks it.
    """

    section: str
    text: str
    rules: tuple[str, ...] = ()
    reason: str = ""


_TABLE: Final = """
Data Files | Data files are in the root or in a folder that is not hidden.
    file-path
Data Files | Actual partition values are read from the log.
    READER
Change Data Files | Change data files are in _change_data.
    cdc-folder
Delta Log Entries | Entries are named by versions of 20 digits, contiguous, and in _delta_log.
    log-contiguous log-name
Delta Log Entries | Each action is one line of JSON.
    log-json log-unicode log-one-action-per-line log-field-type log-empty
Delta Log Entries | Clients do not interpret _staged_commits, and ask the catalog.
    CATALOG
Checkpoints | A checkpoint contains the reconciled actions of its version.
    checkpoint-files-equal-commits checkpoint-values-equal-commits checkpoint-txns-equal-commits checkpoint-heads-equal-commits
    checkpoint-has-protocol
Checkpoints | For time travel the checkpoint is not newer than the version.
    READER
Checkpoints | Cleanup provides a checkpoint for the oldest kept version.
    log-cleanup-keeps-checkpoint
Checkpoints | Numbers in names of checkpoints are padded.
    log-name
Checkpoints | Multi-part checkpoints are forbidden with v2Checkpoint, and deprecated.
    checkpoint-multi-part-v2 checkpoint-multi-part
Checkpoints | Readers ignore multi-part checkpoints with missing parts.
    checkpoint-parts
Checkpoints | A checkpoint is created after its commit.
    checkpoint-after-commit
Sidecar Files | Sidecar files are Parquet files with unique names, in _sidecars, with add and remove only.
    checkpoint-readable sidecar-exists sidecar-only-files
Log Compaction Files | The last version is greater than the first.
    compaction-range
Log Compaction Files | The content is the reconciliation of the commits.
    compaction-equals-commits compaction-heads compaction-no-commit-info
Version Checksum File | A checksum file is one JSON object with its required fields.
    checksum-json checksum-required checksum-type
Version Checksum File | numMetadata and numProtocol are 1.
    checksum-one
Version Checksum File | inCommitTimestampOpt is there if and only if in-commit timestamps are enabled.
    checksum-in-commit-timestamp
Version Checksum File | Boundaries of histograms start at 0, and lengths match.
    checksum-histogram checksum-deleted-histogram
Version Checksum File | All metrics reflect the state of the table.
    checksum-totals checksum-heads checksum-txns checksum-txn-id
Version Checksum File | It is written after its commit.
    checksum-after-commit
Version Checksum File | Existing checksum files are not overwritten.
    PAST
Version Checksum File | Readers continue if checksum files are missing.
    READER
Change Metadata | The first version has a metaData action.
    log-starts-with-protocol
Change Metadata | A version has at most one metaData action.
    metadata-once
Change Metadata | A metaData action has its required fields.
    metadata-required metadata-configuration metadata-type metadata-configuration-strings metadata-id-is-stable
Change Metadata | Partition columns are columns of the schema.
    metadata-partition-columns metadata-not-only-partitions
Format Specification | The format is parquet without options.
    metadata-provider metadata-options
Add File and Remove File | A version has at most one file action of a type for a path.
    file-unique-in-commit file-add-and-remove
Add File and Remove File | A path is not added while it is live with another deletion vector.
    file-one-vector-per-path
Add File and Remove File | Actions have their required fields.
    file-add-required file-remove-required
Add File and Remove File | A path is a URI that has to be decoded.
    file-path-encoding file-path
Add File and Remove File | Sizes are bytes, and times milliseconds.
    file-size file-empty file-time file-remove-timestamp
Add File and Remove File | An add with dataChange=false is in the table, or its rows are in files that the version removes.
    file-data-change
Add File and Remove File | A remove with dataChange=false has its rows in files that the version adds.
    ROWS
Add File and Remove File | With extendedFileMetadata partitionValues, size and tags are there.
    file-extended-metadata
Add File and Remove File | A tombstone remains until it has expired.
    PAST
Add File and Remove File | A remove refers to a file that is in the table.
    file-remove-of-unknown
Add CDC File | A cdc action has its fields, and dataChange is false.
    cdc-required cdc-data-change
Add CDC File | Readers of changes read the cdc files of a version only.
    READER
Add CDC File | Writers produce cdc files if delta.enableChangeDataFeed is true.
    cdc-enabled
Transaction Identifiers | A txn has its fields, and a version has one for an appId.
    txn-fields txn-unique
Protocol Evolution | A protocol action has its fields; lists exist with 3 and 7 only.
    protocol-required feature-lists feature-names
Protocol Evolution | Clients ignore fields and actions that they do not know.
    commit-info-unknown-action
Protocol Evolution | A client with an older version raises an error.
    protocol-known
Commit Provenance Information | A commitInfo of a catalog-managed table has a txnId.
    commit-info-txn-id
Commit Provenance Information | With in-commit timestamps commitInfo is the first action.
    ict-first-action
Commit Provenance Information | A version has at most one commitInfo, and should have it.
    commit-info-object commit-info-exists
Domain Metadata | A domainMetadata action has its fields, and a version has one for a domain.
    domain-fields domain-unique domain-system-json
Domain Metadata | The feature domainMetadata is in writerFeatures.
    domain-feature
Domain Metadata | Users do not modify domains with the prefix delta.
    domain-system
Domain Metadata | Writers preserve domains that they do not understand.
    checkpoint-txns-equal-commits
Sidecar File Information | A sidecar action has its fields, and is in V2 checkpoints only.
    sidecar-fields sidecar-size log-checkpoint-actions
Checkpoint Metadata | checkpointMetadata has the version, and is in V2 checkpoints only.
    checkpoint-metadata-action log-checkpoint-actions
Action Reconciliation | A logical file is not in the adds and in the removes.
    checkpoint-unique-files
Action Reconciliation | Checkpoints and compacted files have no commitInfo.
    checkpoint-no-provenance compaction-no-commit-info
Table Features | Lists exist with reader version 3 and writer version 7.
    feature-lists protocol-reader-3-needs-writer-7
Table Features | Readers and writers implement all listed features.
    feature-unknown
Table Features | A reader feature is in both lists.
    feature-reader-also-writer feature-writer-only feature-reader-writer
Table Features | An upgrade lists the features that any version used.
    PAST
Table Features | Clients do not remove features from the protocol.
    PAST
Column Mapping | The mode is id, name or none, with columnMapping supported.
    mapping-mode mapping-feature
Column Mapping | Each column has a unique physical name and a unique id.
    mapping-physical-name mapping-id mapping-unique-physical-name mapping-unique-id
Column Mapping | A physical name is static.
    mapping-static-physical-name
Column Mapping | Data files have physical names and field ids.
    footer-field-ids
Column Mapping | Partition values have physical names.
    partition-keys
Column Mapping | maxColumnId tracks the highest id, and never falls.
    mapping-max-id mapping-max-id-grows
Column Mapping | Readers resolve columns by id or by physical name.
    READER
Deletion Vectors | The feature is in both lists.
    dv-feature
Deletion Vectors | New vectors are written only if delta.enableDeletionVectors is true.
    dv-enabled
Deletion Vectors | Readers skip deleted rows.
    READER
Deletion Vectors | A descriptor has its fields, and an inline vector has no offset.
    dv-required dv-storage-type dv-inline-offset dv-path dv-inline-bytes
Deletion Vectors | A file with a vector has the right numRecords.
    dv-num-records dv-cardinality footer-num-records
Catalog-managed tables | Clients access the table through the catalog, and ask it for commits.
    CATALOG
Catalog-managed tables | Commits are ratified and published in order.
    log-contiguous
Catalog-managed tables | In-commit timestamps are supported and active.
    feature-requires
Catalog-managed tables | Checkpoints and compacted files are of published versions only.
    checkpoint-after-commit
Iceberg Compatibility V1 | It is enabled if it is supported, with column mapping and without deletion vectors.
    iceberg-v1-feature iceberg-v1-mapping iceberg-v1-vectors feature-requires
Iceberg Compatibility V1 | No array, map or void; each add has numRecords; type changes are Iceberg's.
    iceberg-v1-types iceberg-v1-num-records iceberg-v1-widening
Iceberg Compatibility V1 | Partition columns are in data files, after the data columns.
    iceberg-v1-partition-columns
Iceberg Compatibility V1 | A partitioned table is not replaced by one with other partition columns.
    iceberg-v1-partition-spec
Iceberg Compatibility V2 | It is enabled if it is supported, with column mapping, without deletion vectors and without V1.
    iceberg-v2-feature iceberg-v2-mapping iceberg-v2-vectors iceberg-v2-not-v1
Iceberg Compatibility V2 | Nested ids are unique.
    iceberg-v2-nested-ids
Iceberg Compatibility V2 | Types are of the list; each add has numRecords; type changes are Iceberg's.
    iceberg-v2-types iceberg-v2-num-records iceberg-v2-widening
Iceberg Compatibility V2 | Timestamps are int64, and partition columns are in data files.
    iceberg-v2-timestamps iceberg-v2-partition-columns
Iceberg Compatibility V2 | A partitioned table is not replaced by one with other partition columns.
    iceberg-v2-partition-spec
Timestamp without timezone | timestampNtz is in both lists.
    ntz-feature
V2 Checkpoint Table Feature | A V2 checkpoint needs v2Checkpoint, and no multi-part checkpoint is used.
    checkpoint-v2-feature checkpoint-multi-part-v2
Row Tracking | It is enabled if it is supported, with domainMetadata, and not suspended.
    row-tracking-feature row-tracking-suspended feature-requires
Row Tracking | Each add has baseRowId and defaultRowCommitVersion.
    row-tracking-base-row-id row-tracking-enabled-all
Row Tracking | Row ids are unique, and the high water mark is not lower.
    row-tracking-unique-row-ids row-tracking-high-water-mark
Row Tracking | Actions keep the baseRowId and defaultRowCommitVersion of their path.
    row-tracking-recommitted row-tracking-commit-version
Row Tracking | Materialized columns have unique names.
    row-tracking-materialized-names
Row Tracking | Stable row ids are unique, and materialized values are preserved.
    ROWS
Row Tracking | Readers reconstruct row ids.
    READER
VACUUM Protocol Check | The feature is in both lists.
    feature-reader-writer
VACUUM Protocol Check | VACUUM checks the write protocol.
    ACT
Clustered Table | domainMetadata is supported, and the table has no partition columns.
    feature-requires clustering-no-partitions
Clustered Table | A domain tracks clustering columns.
    clustering-columns
Clustered Table | Files have statistics of clustering columns.
    clustering-statistics
Clustered Table | clusteringProvider names who clustered a file.
    ACT
Variant Data Type | variantType is in both lists, and variants are no partition columns.
    variant-feature metadata-partition-type
Variant Data Type | A variant in a file has value and metadata.
    footer-variant
Variant Shredding | The property needs the features, and files are shredded only with them.
    variant-shredding-feature footer-variant feature-requires
In-Commit Timestamps | The property needs the feature.
    ict-feature
In-Commit Timestamps | Each commitInfo has an inCommitTimestamp, greater than the one before.
    ict-first-action ict-increases
In-Commit Timestamps | The enablement is tracked.
    ict-enablement
In-Commit Timestamps | The first one is greater than the modification time of the commit before.
    TIMES
Type Widening | The feature is in both lists.
    widening-feature
Type Widening | Type changes are listed, supported and recorded.
    widening-changes widening-supported widening-current widening-recorded
Type Widening | Readers convert narrower values, and fail on unknown changes.
    READER
Creation of New Log Entries | An entry is never overwritten.
    PAST
Consistency Between Table Metadata and Data Files | Columns of files are columns of the table.
    footer-columns footer-types footer-utc footer-readable data-file-rows
Consistency Between Table Metadata and Data Files | Each file has values for all partition columns.
    partition-keys
Delta Log Entries (writers) | An entry has no two actions that reconcile with each other.
    file-unique-in-commit file-add-and-remove metadata-once protocol-once txn-unique domain-unique
Checkpoints (writers) | partitionValues_parsed and stats are there as properties say; removes have no stats and tags.
    checkpoint-parsed-columns checkpoint-stats-column checkpoint-remove-fields
V2 Spec | A V2 checkpoint has one checkpointMetadata, and file actions are all in sidecars or all in the checkpoint.
    checkpoint-metadata-action sidecar-all-or-none
Multi-part checkpoint | Parts are clustered by Spark's hash of the path.
    checkpoint-part-hash
Metadata Cleanup | Orphaned sidecar files are deleted after a day.
    sidecar-orphan
Data Files (writers) | Data files have unique names, and are not overwritten.
    data-file-exists data-file-size
Append-only Tables | Entries do not remove data.
    append-only-no-removes
Column Invariants | An invariant is JSON with an expression, with the feature.
    invariant-feature invariant-expression
Column Invariants | Rows fulfil invariants.
    invariant-rows
CHECK Constraints | Constraints need the feature, and are expressions.
    constraint-feature constraint-expression
CHECK Constraints | Columns of the expression exist, and rows fulfil it.
    constraint-rows
Generated Columns | Expressions need the feature.
    generated-feature generated-expression
Generated Columns | Values equal the expression.
    generated-rows
Default Columns | Defaults need the feature; those of variants are NULL.
    default-feature default-expression
Default Columns | ADD COLUMN sets no default.
    ACT
Identity Columns | Start, step and mark are numbers, with the feature, and do not change.
    identity-feature identity-values identity-fixed identity-high-water-mark
Identity Columns | Generated values are start + k * step, and the mark includes them.
    identity-rows
Identity Columns | Generated values are new.
    ROWS
Table Properties | Properties have valid values.
    property-boolean property-codec
Deletion Vector Format | Bytes have the magic number, valid keys, size and checksum.
    dv-format-exists dv-format-bytes dv-inline-bytes
Per-file Statistics | Statistics are right: numRecords, nullCount, minValues and maxValues.
    stats-json stats-num-records stats-null-count stats-min-max stats-all-null footer-num-records footer-null-count
    footer-min-max
Per-file Statistics | Statistics of variants are valid variants.
    stats-variant
Partition Value Serialization | Values have the format of their types.
    partition-value
Schema Serialization Format | The schema is a struct of known types with all members.
    schema-json schema-type schema-field schema-known-type schema-decimal schema-void schema-name
Schema Serialization Format | Columns that are not nullable have no nulls; columns keep the type that their metadata declares.
    schema-not-null schema-char-length
Schema Serialization Format | Names are unique regardless of casing.
    schema-unique-name
Checkpoint Schema | Columns of a checkpoint have the types of their actions.
    log-field-type
Last Checkpoint File Schema | The hint has its fields, and its checksum is right.
    hint-json hint-exists hint-latest hint-size hint-checksum
"""
_REASONS: Final = {
    "READER": "It binds readers, not tables.",
    "CATALOG": "It binds the catalog, which the check does not ask.",
    "PAST": "A log does not show what was there before.",
    "ROWS": "It needs the rows of several files or versions, compared with each other.",
    "ACT": "It binds the writer while it acts, and leaves no trace in the table.",
    "TIMES": "Copies of a table change modification times.",
}


def _parsed(text: str) -> Iterator[Sentence]:
    """Yield the sentences: a line of section and sentence, and below it, indented, the ids of rules or the name of a reason."""
    for each in re.findall(r"^\S.*\n(?: {4}.*\n)+", text, re.MULTILINE):
        head, _, found = each.partition("\n")
        section, _, sentence = head.partition(" | ")
        names = tuple(found.split())
        reason = _REASONS.get(names[0], "")
        yield Sentence(section, sentence, () if reason else names, reason)


COVERAGE: Final = tuple(_parsed(_TABLE))
"""All sentences."""
