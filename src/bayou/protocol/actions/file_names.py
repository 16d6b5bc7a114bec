# SPDX-License-Identifier: Apache-2.0
"""The names of the files in `_delta_log`, and of random folders, which spread data files over an object store."""

from __future__ import annotations

import enum
import random
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.protocol import properties
from bayou.protocol.properties import mapping_mode

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG_FOLDER = "_delta_log"
CHANGES_FOLDER = "_change_data"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"
LAST_CHECKPOINT = f"{LOG_FOLDER}/_last_checkpoint"

_NAME = re.compile(
    r"(?P<version>\d{20})\.(?:"
    r"(?P<commit>json)"
    r"|(?P<checksum>crc)"
    r"|(?P<end>\d{20})\.compacted\.json"
    r"|checkpoint\.(?:"
    r"(?P<classic>parquet)"
    r"|(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet"
    r"|(?P<uuid>[0-9A-Za-z]+(?:-[0-9A-Za-z]+)+)\.(?:json|parquet)"
    r"))",
    re.ASCII,
)


class LogFileKind(enum.Enum):
    """A kind of log file."""

    COMMIT = "commit"
    CHECKSUM = "checksum"
    COMPACTED = "compacted"
    CLASSIC_CHECKPOINT = "classic checkpoint"
    CHECKPOINT_PART = "checkpoint part"
    V2_CHECKPOINT = "V2 checkpoint"


_WHOLE_FILES = {
    "commit": LogFileKind.COMMIT,
    "checksum": LogFileKind.CHECKSUM,
    "classic": LogFileKind.CLASSIC_CHECKPOINT,
}


@dataclass(frozen=True, slots=True)
class LogFileName:
    """The parsed name of a log file.

    Attributes:
        name: the name, without a folder.
        kind: the kind of file.
        version: the table version; the first one of a compacted file.
        end_version: the last version of a compacted file, otherwise None.
        part: the one-based number of a checkpoint part, otherwise None.
        parts: the number of parts of its checkpoint, otherwise None.
    """

    name: str
    kind: LogFileKind
    version: int
    end_version: int | None = None
    part: int | None = None
    parts: int | None = None


def parse_log_file_name(name: str) -> LogFileName | None:
    """Parse the name of a file directly under `_delta_log`; None if it is not a log file of the protocol."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    version = int(found["version"])
    if found["end"]:
        return LogFileName(name, LogFileKind.COMPACTED, version, end_version=int(found["end"]))
    if found["part"]:
        part, parts = int(found["part"]), int(found["parts"])
        return LogFileName(name, LogFileKind.CHECKPOINT_PART, version, part=part, parts=parts)
    kind = next((kind for group, kind in _WHOLE_FILES.items() if found[group]), LogFileKind.V2_CHECKPOINT)
    return LogFileName(name, kind, version)


def version_prefix(version: int) -> str:
    """Return the path that sorts before all log files of `version` and later."""
    return f"{LOG_FOLDER}/{version:020d}"


def commit_path(version: int) -> str:
    """The path of a commit, relative to the table."""
    return f"{LOG_FOLDER}/{version:020d}.json"


def checksum_path(version: int) -> str:
    """The path of a version checksum, relative to the table."""
    return f"{LOG_FOLDER}/{version:020d}.crc"


def checkpoint_path(version: int) -> str:
    """The path of a classic checkpoint, relative to the table."""
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.parquet"


def checkpoint_part_path(version: int, part: int, parts: int) -> str:
    """The path of one part of a multi-part checkpoint, relative to the table; parts count from one."""
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def compacted_path(start: int, end: int) -> str:
    """The path of a log compaction file, relative to the table."""
    return f"{LOG_FOLDER}/{start:020d}.{end:020d}.compacted.json"


_CHARACTERS: Final = string.ascii_letters + string.digits


def vector_prefix(configuration: Mapping[str, str]) -> str:
    """Return a random folder for a file of deletion vectors; empty for the table's root.

    Source: PROTOCOL.md, "Deletion Vector Descriptor Schema".
    """
    return data_prefix(configuration) if mapping_mode(configuration) == "none" else _random_prefix(configuration)


def data_prefix(configuration: Mapping[str, str]) -> str:
    """Return a random folder for data files; empty for the table's root.

    Sources: delta-spark's `Utils.getRandomPrefixLength` and `delta.randomizeFilePrefixes`.
    """
    return _random_prefix(configuration) if properties.RANDOMIZE_FILE_PREFIXES.read(configuration) else ""


def _random_prefix(configuration: Mapping[str, str]) -> str:
    length = properties.RANDOM_PREFIX_LENGTH.read(configuration)
    return "".join(random.choices(_CHARACTERS, k=length))  # noqa: S311  (the name of a folder is not a secret)
