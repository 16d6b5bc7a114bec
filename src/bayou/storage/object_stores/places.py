# SPDX-License-Identifier: Apache-2.0
"""Parse the URI of a table in an object store: the kind of store, the bucket or container, and the prefix of the keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bayou.errors import failed

if TYPE_CHECKING:
    from bayou.storage.paths import QualifiedPath

Kind: TypeAlias = Literal["s3", "gcs", "azure"]

KINDS: Final[Mapping[str, Kind]] = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "r2": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "azure": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "wasb": "azure",
    "wasbs": "azure",
    "https": "azure",
}
"""The kind of store by the scheme of a URI."""

NAMES: Final[Mapping[Kind, str]] = {"s3": "S3", "gcs": "Google Cloud Storage", "azure": "Azure"}

PUBLIC_CLOUD: Final = "core.windows.net"
"""The end of the hosts of Azure's public cloud."""

# The query of a signed URL, and a shared access signature.
_SIGNED: Final = re.compile(r"\?(?:.*&)?(?:sig|X-Amz-Signature|X-Goog-Signature)=", re.IGNORECASE)
# Characters of no bucket's name. They would end a URL, or crash the library. A workspace of OneLake may have spaces.
_NO_BUCKET: Final = re.compile(r"[<>?#\"]", re.ASCII)
_SPACE: Final = re.compile(r"\s")
_EXPRESS: Final = "--x-s3"
# `account.dfs.core.windows.net`, and the same in other clouds and in OneLake.
_AZURE_HOST: Final = re.compile(r"(?P<account>[^.]+)\.(?:dfs|blob)\.(?P<suffix>(?:core|fabric|storage)\..+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """The location of a table in an object store.

    Attributes:
        kind: the kind of store.
        bucket: the bucket, or the container.
        prefix: the beginning of the keys of the table's files, without a slash at the end; empty for a whole bucket.
        account: the storage account that the URI names, on Azure.
        cloud: the end of the account's host, such as `core.windows.net`.
    """

    kind: Kind
    bucket: str
    prefix: str
    account: str | None = None
    cloud: str | None = None

    @property
    def is_onelake(self) -> bool:
        """Whether the account belongs to Microsoft Fabric."""
        return self.cloud is not None and self.cloud.startswith("fabric.")


def place_of(path: QualifiedPath) -> ObjectPlace:
    """Parse the location of a table, or raise InvalidOptionError if the URI has no bucket, or no key can begin with its path."""
    kind = KINDS[path.scheme]
    authority, _, key = path.uri.partition("://")[2].partition("/")
    account = None
    host = None
    if ":" in authority.rpartition("@")[0] or (kind != "azure" and "@" in authority) or _SIGNED.search(key):
        raise failed("DELTA_ILLEGAL_OPTION/path-with-credentials", table=path.uri, option="path")
    if kind == "azure":
        container, at, host_name = authority.rpartition("@")
        host = _AZURE_HOST.fullmatch(host_name)
        if path.scheme == "https":
            if host is None:
                raise failed("DELTA_ILLEGAL_OPTION/azure-url", table=path.uri, option="path")
            container, _, key = key.partition("/")
        elif not at:
            container = authority
        elif host is None:
            raise failed("DELTA_ILLEGAL_OPTION/azure-host", table=path.uri, option="path", host=host_name)
        authority = container
        account = None if host is None else host["account"]
    if not authority:
        raise failed("DELTA_ILLEGAL_OPTION/no-bucket", table=path.uri, option="path", scheme=path.scheme)
    if _NO_BUCKET.search(authority) or (kind != "azure" and _SPACE.search(authority)):
        raise failed("DELTA_ILLEGAL_OPTION/bucket", table=path.uri, option="path", scheme=path.scheme, bucket=authority)
    _check_key(path, key)
    if authority.endswith(_EXPRESS):
        raise failed("DELTA_ILLEGAL_OPTION/express-bucket", table=path.uri, option="path")
    return ObjectPlace(kind, authority, key, account, None if host is None else host["suffix"])


def _check_key(path: QualifiedPath, key: str) -> None:
    # object_store 0.14 accepts no such key, and Hadoop's `Path` folds some of them into others.
    if any(part in {"", ".", ".."} for part in key.split("/")) and key:
        raise failed("DELTA_ILLEGAL_OPTION/object-key", table=path.uri, option="path")
