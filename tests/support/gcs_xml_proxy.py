# SPDX-License-Identifier: Apache-2.0
"""Google's XML API, which obstore speaks, before fake-gcs-server, which has only the JSON API for it.

fake-gcs-server alone decides about conditions: this proxy passes `x-goog-if-generation-match` on as `ifGenerationMatch`, and gives
back the 412. Source of the requests: what obstore 0.12 (object_store 0.14) sent to a recording server. Source of the answers:
Google's "XML API reference".
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

# Google gives a thousand objects a page. With fewer, a listing of a few files has several pages, too.
PAGE = 20

# What a request may ask for; anything else is refused, so that nothing is ignored.
QUERY = {"list-type", "prefix", "delimiter", "start-after", "continuation-token", "uploads", "uploadId", "partNumber"}
HEADERS = {"x-goog-if-generation-match", "x-goog-copy-source"}

CODES = {404: "NoSuchKey", 412: "PreconditionFailed", 416: "InvalidRange"}


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Translator:
    """Carries out requests of the XML API.

    Attributes:
        place: the host and the port of the JSON API.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._parts: dict[str, dict[int, bytes]] = {}

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Carry out a request; the names of the headers are in lower case."""
        parts = urlsplit(target)
        bucket, _, name = (unquote(part) for part in parts.path.removeprefix("/").partition("/"))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        asks = {header for header in headers if header.startswith(("x-goog-", "if-"))}
        if not (query.keys() <= QUERY and asks <= HEADERS):
            return Answer(501, _error("NotImplemented", f"{method} {target} with {sorted(asks)}"))
        if method in {"GET", "HEAD"}:
            return self._read(method, bucket, name, headers) if name else self._list(bucket, query)
        if method == "DELETE":
            return self._translated(self._send("DELETE", _object(bucket, name)))
        if method == "POST":
            return self._upload_in_parts(bucket, name, query.get("uploadId"), body, headers)
        return self._put(bucket, name, query, body, headers)

    def _put(self, bucket: str, name: str, query: Mapping[str, str], body: bytes, headers: Mapping[str, str]) -> Answer:
        if "x-goog-copy-source" in headers:
            return self._copy(headers["x-goog-copy-source"], bucket, name, headers)
        if "partNumber" in query:
            self._parts[query["uploadId"]][int(query["partNumber"])] = body
            return Answer(200, headers={"ETag": f'"{query["partNumber"]}"'})
        return self._upload(bucket, name, body, headers)

    def _send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self.place, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})

    def _translated(self, answer: Answer, code: str | None = None) -> Answer:
        """An answer without a body: an error of the JSON API becomes one of the XML API."""
        if answer.status < 400:
            return Answer(204 if answer.status == 200 else answer.status)
        return Answer(
            answer.status, _error(code or CODES.get(answer.status, "InternalError"), answer.body.decode(errors="replace"))
        )

    def _upload(self, bucket: str, name: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        query = {"uploadType": "media", "name": name}
        if "x-goog-if-generation-match" in headers:
            query["ifGenerationMatch"] = headers["x-goog-if-generation-match"]
        content = {"Content-Type": headers.get("content-type", "application/octet-stream")}
        answer = self._send("POST", f"/upload/storage/v1/b/{quote(bucket, safe='')}/o?{urlencode(query)}", body, content)
        if answer.status != 200:
            return self._translated(answer, "NoSuchBucket" if answer.status == 404 else None)
        found = json.loads(answer.body)
        return Answer(200, headers={"ETag": f'"{found["etag"]}"', "x-goog-generation": str(found["generation"])})

    def _copy(self, source: str, bucket: str, name: str, headers: Mapping[str, str]) -> Answer:
        # fake-gcs-server 1.56 ignores ifGenerationMatch of a rewrite (fakestorage/object.go, rewriteObject), but not of an upload.
        its_bucket, _, its_name = (unquote(part) for part in source.removeprefix("/").partition("/"))
        found = self._send("GET", f"{_object(its_bucket, its_name)}?alt=media")
        if found.status != 200:
            return self._translated(found)
        kept = {"content-type": found.headers.get("content-type", "")}
        answer = self._upload(bucket, name, found.body, {**headers, **kept})
        return answer if answer.status != 200 else Answer(200, b"<CopyObjectResult></CopyObjectResult>", answer.headers)

    def _upload_in_parts(self, bucket: str, name: str, upload: str | None, body: bytes, headers: Mapping[str, str]) -> Answer:
        if upload is None:
            upload = uuid.uuid4().hex
            self._parts[upload] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return Answer(200, text.encode())
        numbers = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        parts = self._parts.pop(upload)
        answer = self._upload(bucket, name, b"".join(parts[number] for number in numbers), headers)
        if answer.status != 200:
            return answer
        etag = escape(answer.headers["ETag"])
        text = f"<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
        return Answer(200, text.encode(), answer.headers)

    def _read(self, method: str, bucket: str, name: str, headers: Mapping[str, str]) -> Answer:
        wanted = {"Range": headers["range"]} if "range" in headers else {}
        answer = self._send(method, f"{_object(bucket, name)}?alt=media", headers=wanted)
        if answer.status not in {200, 206}:
            return self._translated(answer)
        # fake-gcs-server 1.56 takes the last bytes of an empty object for the range 0 to -1; Google answers 416.
        if answer.headers.get("content-range") == "bytes 0--1/0":
            return Answer(416, _error(CODES[416], "the object is empty"))
        kept = ("etag", "last-modified", "content-range", "content-length", "content-type", "x-goog-generation")
        return Answer(answer.status, answer.body, {each: answer.headers[each] for each in kept if each in answer.headers})

    def _list(self, bucket: str, query: Mapping[str, str]) -> Answer:
        names = {"prefix": "prefix", "delimiter": "delimiter", "continuation-token": "pageToken", "start-after": "startOffset"}
        asked = {json_name: query[name] for name, json_name in names.items() if name in query}
        answer = self._send("GET", f"/storage/v1/b/{quote(bucket, safe='')}/o?{urlencode({**asked, 'maxResults': PAGE})}")
        if answer.status != 200:
            return self._translated(answer, "NoSuchBucket" if answer.status == 404 else None)
        found = json.loads(answer.body)
        token = found.get("nextPageToken") or ""
        after = query.get("start-after", "")
        # `startOffset` includes the name itself, `start-after` does not.
        items = [item for item in found.get("items") or [] if item["name"] > after]
        # Each page of fake-gcs-server has the folders of all later ones, too.
        folders = [folder for folder in found.get("prefixes") or [] if not token or folder < token]
        text = "".join(
            [
                "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>",
                f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>",
                f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else "",
                *map(_listed, items),
                *(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders),
                "</ListBucketResult>",
            ]
        )
        return Answer(200, text.encode(), {"Content-Type": "application/xml; charset=UTF-8"})


def _object(bucket: str, name: str) -> str:
    return f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"


def _listed(item: Mapping[str, Any]) -> str:
    return (
        f"<Contents><Key>{escape(item['name'])}</Key><Generation>{item['generation']}</Generation><Size>{item['size']}</Size>"
        f"<LastModified>{item['updated']}</LastModified><ETag>{escape(chr(34) + item['etag'] + chr(34))}</ETag></Contents>"
    )


def _error(code: str, message: str) -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>".encode()


@contextlib.contextmanager
def gcs_xml_proxy(target: str) -> Iterator[str]:
    """Run the proxy before fake-gcs-server; gives its URL."""
    translator = Translator(urlsplit(target).netloc)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms until its headers are acknowledged

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = translator.answer(self.command, self.path, headers, body)
            self.send_response(answer.status)
            # The answer to HEAD has the length of the object, and no body.
            for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def make_google_bucket(target: str, name: str) -> None:
    """Create a bucket by the JSON API."""
    connection = http.client.HTTPConnection(urlsplit(target).netloc, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/storage/v1/b?project=tests", json.dumps({"name": name}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
