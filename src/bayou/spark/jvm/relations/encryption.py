# SPDX-License-Identifier: Apache-2.0
"""Determine whether Spark may read, or will write, encrypted Parquet files.

Source: the settings of Parquet's `DecryptionPropertiesFactory`, `EncryptionPropertiesFactory` and `PropertiesDrivenCryptoFactory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.backend import ENCRYPTION_FACTORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.jvm.core.bridge import JavaObject

_BY_PROPERTIES: Final = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
_KEYS: Final = ("parquet.encryption.footer.key", "parquet.encryption.column.keys", "parquet.encryption.uniform.key")
"""The settings of Parquet's own factory. Without any of them it encrypts no written file."""


def reads_encrypted(session: JavaObject) -> bool:
    """Whether Spark is configured to read encrypted files."""
    return _setting(session, ENCRYPTION_FACTORY, {}) is not None


def writes_encrypted(session: JavaObject, options: Mapping[str, str]) -> bool:
    """Whether Spark would encrypt the files that it writes."""
    factory = _setting(session, ENCRYPTION_FACTORY, options)
    if factory is None:
        return False
    return factory != _BY_PROPERTIES or any(_setting(session, key, options) is not None for key in _KEYS)


def _setting(session: JavaObject, name: str, options: Mapping[str, str]) -> str | None:
    option = next((value for key, value in options.items() if key.lower() == name), None)
    if option is not None:
        return option
    of_session = session.conf().getOption(name)
    value_in_session = of_session.get() if of_session.isDefined() else session.sparkContext().hadoopConfiguration().get(name)
    return None if value_in_session is None else str(value_in_session)
