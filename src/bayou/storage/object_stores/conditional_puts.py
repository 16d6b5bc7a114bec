# SPDX-License-Identifier: Apache-2.0
"""Check whether a server obeys conditional PUTs. Some accept the condition and replace the object nevertheless.

Known to do so: MinIO before 2024-09, Ceph before Squid, lakeFS (treeverse/lakeFS#8380). AWS, Cloudflare, Google and Azure obey.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayou.errors import StorageError, failed
from bayou.protocol.actions.file_names import LOG_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage.object_stores.places import ObjectPlace

_KNOWN: Final = re.compile(r"(?:^|\.)(?:amazonaws\.com(?:\.cn)?|r2\.cloudflarestorage\.com)(?::\d+)?$", re.ASCII)
_ENDPOINTS: Final = ("aws_endpoint_url", "aws_endpoint_url_s3", "aws_endpoint", "endpoint_url", "endpoint")

_lock: Final = threading.Lock()
_answers: Final[dict[tuple[str, str], bool]] = {}


def endpoint_to_probe(place: ObjectPlace, options: Mapping[str, str]) -> str | None:
    """Return the endpoint of a server that may not obey; None if it is known to obey.

    Args:
        place: the table's location.
        options: obstore's options, with names in lower case.
    """
    if place.kind != "s3":
        return None
    in_environment = (os.environ.get(name.upper()) for name in _ENDPOINTS if name.startswith("aws_"))
    given = next((found for found in (*(options.get(name) for name in _ENDPOINTS), *in_environment) if found), None)
    host = (given or "").partition("://")[2].partition("/")[0] or given
    return None if host is None or _KNOWN.search(host) else given


def check_obeys(
    endpoint: str,
    bucket: str,
    table: str,
    create: Callable[[str, bytes], bool],
    read: Callable[[str], bytes],
    delete: Callable[[str], None],
) -> None:
    """Check whether a server obeys, once in a process for each bucket. Write only an object with a unique name.

    Args:
        endpoint: the server.
        bucket: the bucket.
        table: the table's URI, for errors.
        create: sends a conditional PUT.
        read: reads an object.
        delete: deletes an object.

    Raises:
        StorageError: the server does not obey, or failed.
    """
    with _lock:
        known = _answers.get((endpoint, bucket))
    if known is None:
        path = f"{LOG_FOLDER}/.bayou-probe-{uuid.uuid4().hex}"
        try:
            known = create(path, b"first") and not create(path, b"second") and read(path) == b"first"
        except StorageError as error:
            if not error.facts.get("is_unsupported"):
                raise
            known = False
        finally:
            with contextlib.suppress(StorageError):  # the earlier error says more
                delete(path)
        with _lock:
            _answers[endpoint, bucket] = known
    if not known:
        raise failed("no-conditional-puts", table=table, is_refused=True)
