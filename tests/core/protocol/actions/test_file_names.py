# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.actions import file_names
from bayou.protocol.actions.file_names import LogFileKind, LogFileName, parse_log_file_name

VERSIONS = st.integers(0, 10**20 - 1)


def name_of(path):
    return path.rsplit("/", 1)[-1]


@given(VERSIONS, VERSIONS, st.integers(1, 10**9), st.integers(1, 10**9))
def test_every_name_that_is_spelled_is_understood(version, end, part, parts):
    spelled = {
        file_names.commit_path(version): (LogFileKind.COMMIT, version, None, None, None),
        file_names.checksum_path(version): (LogFileKind.CHECKSUM, version, None, None, None),
        file_names.checkpoint_path(version): (LogFileKind.CLASSIC_CHECKPOINT, version, None, None, None),
        file_names.compacted_path(version, end): (LogFileKind.COMPACTED, version, end, None, None),
        file_names.checkpoint_part_path(version, part, parts): (
            LogFileKind.CHECKPOINT_PART,
            version,
            None,
            part,
            parts,
        ),
    }
    for path, facts in spelled.items():
        assert parse_log_file_name(name_of(path)) == LogFileName(name_of(path), *facts)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_checkpoint_with_a_uuid_is_a_v2_checkpoint(suffix):
    found = parse_log_file_name(f"00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{suffix}")
    assert found is not None
    assert (found.kind, found.version) == (LogFileKind.V2_CHECKPOINT, 3)


@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        ".00000000000000000000.json.crc",
        "00000000000000000000.json.tmp",
        "0.json",
        "000000000000000000000.json",
        "00000000000000000000.checkpoint.parquet.tmp",
        "00000000000000000000.checkpoint.0000000001.parquet",
        "00000000000000000002.016ae953-37a9-438e-8683-9a9a4a79a395.json",
        "\u06600000000000000000000.json",
        "",
        "_delta_index",
    ],
)
def test_other_names_mean_nothing(name):
    assert parse_log_file_name(name) is None


@given(VERSIONS, VERSIONS)
def test_the_prefix_of_a_version_sorts_before_its_files_and_after_older_ones(version, other):
    prefix = file_names.version_prefix(version)
    assert (file_names.commit_path(other) >= prefix) is (other >= version)
