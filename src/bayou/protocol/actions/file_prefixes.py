# SPDX-License-Identifier: Apache-2.0
"""Folders of random names, which spread a table's files over an object store.

Sources: PROTOCOL.md, "Deletion Vector Descriptor Schema" (the prefix of a vector's file); delta-spark's
`Utils.getRandomPrefixLength` and `delta.randomizeFilePrefixes` for which tables have them.
"""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, Final

from bayou.protocol import properties
from bayou.protocol.properties import mapping_mode

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHARACTERS: Final = string.ascii_letters + string.digits


def vector_prefix(configuration: Mapping[str, str]) -> str:
    """A folder for a file of deletion vectors, another one each time; empty where they lie in the table's root.

    Args:
        configuration: the table's properties.
    """
    return data_prefix(configuration) if mapping_mode(configuration) == "none" else _random_prefix(configuration)


def data_prefix(configuration: Mapping[str, str]) -> str:
    """A folder for data files, another one each time; empty where they lie in the table's root.

    Args:
        configuration: the table's properties.
    """
    return _random_prefix(configuration) if properties.RANDOMIZE_FILE_PREFIXES.read(configuration) else ""


def _random_prefix(configuration: Mapping[str, str]) -> str:
    length = properties.RANDOM_PREFIX_LENGTH.read(configuration)
    return "".join(random.choices(_CHARACTERS, k=length))  # noqa: S311  (a folder is no secret)
