# SPDX-License-Identifier: Apache-2.0
"""`_last_checkpoint`: the hint at the log's latest checkpoint, with a checksum over itself.

Source: PROTOCOL.md, "Last Checkpoint File Schema" and "JSON checksum".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from bayou.log.segment.listing import list_versions, read_last_checkpoint
from bayou.protocol.actions.file_names import LAST_CHECKPOINT
from bayou.storage.store import LogStore

_CHECKSUM: Final = "checksum"
MOST_SCHEMA_CHARACTERS: Final = 20_000
"""delta-spark's limit for the JSON of a schema that is stored for readers."""

# delta-spark's limit for the lists of actions in the hint.
_MOST_ACTIONS: Final = 30


@dataclass(frozen=True, slots=True)
class V2Hint:
    """The hint's part about a V2 checkpoint.

    Attributes:
        name: the name of its top-level file.
        non_file_actions: the actions of the top-level file except sidecars.
        sidecars: the values of its `sidecar` actions.
    """

    name: str
    size: int
    modification_time: int
    non_file_actions: tuple[Mapping[str, Any], ...]
    sidecars: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the value of `v2Checkpoint`, without long lists, which can be read from the checkpoint itself."""
        document: dict[str, Any] = {"path": self.name, "sizeInBytes": self.size, "modificationTime": self.modification_time}
        if len(self.non_file_actions) <= _MOST_ACTIONS and not _is_ambiguous(self.non_file_actions):
            document["nonFileActions"] = list(self.non_file_actions)
        if len(self.sidecars) <= _MOST_ACTIONS:
            document["sidecarFiles"] = list(self.sidecars)
        return document


@dataclass(frozen=True, slots=True)
class LastCheckpoint:
    """The contents of `_last_checkpoint`.

    Attributes:
        size: the number of actions in it.
        num_adds: the number of `add` actions.
        parts: the number of its parts; None if it is not a multi-part checkpoint.
        schema: its columns in Spark's JSON; None if unknown.
        v2: the part about a V2 checkpoint; None for others.
    """

    version: int
    size: int
    size_in_bytes: int
    num_adds: int
    parts: int | None = None
    schema: Mapping[str, Any] | None = None
    v2: V2Hint | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the whole document, its checksum last."""
        document: dict[str, Any] = {"version": self.version, "size": self.size}
        if self.parts is not None:
            document["parts"] = self.parts
        document |= {"sizeInBytes": self.size_in_bytes, "numOfAddFiles": self.num_adds}
        if self.schema is not None and len(compact_json(self.schema)) <= MOST_SCHEMA_CHARACTERS:
            document["checkpointSchema"] = self.schema
        if self.v2 is not None:
            document["v2Checkpoint"] = self.v2.to_json()
        return {**document, _CHECKSUM: json_checksum(document)}


def write_last_checkpoint(store: LogStore, hint: LastCheckpoint) -> bool:
    """Write the hint unless the existing one names a later checkpoint that exists; return whether it was written."""
    present = read_last_checkpoint(store)
    if present is not None and present > hint.version and list_versions(store, present).checkpoints:
        return False
    store.put(LAST_CHECKPOINT, compact_json(hint.to_json()).encode("utf-8"))
    return True


def json_checksum(document: Mapping[str, Any]) -> str:
    """Return the hexadecimal MD5 digest of a document's canonical form, without the top-level `checksum`."""
    leaves = {name: value for name, value in document.items() if name != _CHECKSUM}
    canonical = ",".join(f"{path}={value}" for path, value in sorted(_leaves(leaves)))
    return hashlib.md5(canonical.encode("ascii"), usedforsecurity=False).hexdigest()


def compact_json(document: object) -> str:
    """Return JSON without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _is_ambiguous(document: object) -> bool:
    """Return whether the orders of the leaves differ between the protocol (by path) and delta-spark (by path and value).

    They do for more than ten values in a list. A checksum that delta-spark considers wrong delays it by seconds.
    """
    by_path = [f"{path}={value}" for path, value in sorted(_leaves(document))]
    return by_path != sorted(by_path)


def _leaves(document: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each scalar of a document in canonical form, with its canonical path."""
    if isinstance(document, Mapping):
        named = [(_encoded(name), value) for name, value in document.items()]
    elif isinstance(document, list | tuple):
        named = [(str(place), value) for place, value in enumerate(document)]
    else:
        yield path, _encoded(document) if isinstance(document, str) else json.dumps(document)
        return
    for name, value in named:
        yield from _leaves(value, f"{path}+{name}" if path else name)


def _encoded(text: str) -> str:
    # Letters, digits and "-._~" are what `quote` never encodes.
    return f'"{quote(text, safe="")}"'
