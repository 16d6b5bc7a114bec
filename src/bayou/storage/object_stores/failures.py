# SPDX-License-Identifier: Apache-2.0
"""Interpret failed requests. obstore has few classes of errors, so their messages are parsed, too."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import DeltaError, failed, redact_uri

_STATUS: Final = re.compile(r"status code: (\d{3})")
# The second form is the library's, for an error in the answer to a request that deletes many objects.
_CODE: Final = re.compile(r"<Code>([^<]{1,80})</Code>|\(code: (\w{1,80})\)")
_MESSAGE: Final = re.compile(r"<Message>([^<]{1,300})")
_URL: Final = re.compile(r"https?://[^\s\"'<>]+")
_HOST: Final = re.compile(r"https?://(?:[^\s/]*@)?([^\s/?]+)", re.ASCII)
_CONNECTED: Final = re.compile(r"\"tcp connect error\",\s*([^\s,]+),")  # the proxy's address, if there is one
# The metadata service of the machine, which is asked if no credentials are set.
_METADATA: Final = re.compile(r"https?://(?:169\.254\.169\.254|metadata\.google\.internal)/", re.ASCII)
_RETRIES: Final = re.compile(r", after \d+ retries", re.ASCII)
# Where a server's answer or an error of obstore may contain credentials. An answer may be cut anywhere.
_SECRET: Final = re.compile(
    r"(?is)<(AWSAccessKeyId|StringToSign|StringToSignBytes|SignatureProvided|CanonicalRequest|CanonicalRequestBytes"
    r"|AuthenticationErrorDetail|Token-0)>.*?(?:</\1>|$)"
)


_NOBODY: Final = "no credentials are given, and the metadata service of this machine gives none"
_ONLY_HTTPS: Final = "its endpoint is http, and only https is allowed"
_WEB_PAGE: Final = "the server answers with a web page"
_CHANGED: Final = "another program replaced the file while it was read"
# Why a connection failed, by strings in the library's dump of its error. The dump is not shown.
_CONNECTIONS: Final[Mapping[str, str]] = {
    "UnknownIssuer": "the TLS certificate is signed by an authority that this machine does not trust",
    "NotValidForName": "the TLS certificate is for another host",
    "Expired": "the TLS certificate has expired",
    "InvalidContentType": "the server answers without TLS, and its endpoint is https",
    "dns error": "the host of the endpoint, or of the proxy, cannot be found",
    "ConnectionRefused": "no server listens there",
    "ConnectionReset": "the server ended the connection",
    "IncompleteMessage": "the server ended the connection",
    "kind: Timeout": "the server did not answer in time",
    "TunnelUnsuccessful": "the proxy refused the connection",
    "ProxyAuthRequired": "the proxy wants a user and a password",
}


class WebPageError(Exception):
    """The answer did not come from an object store."""


def checked_answer(found: Any) -> Any:
    """Return the answer to a GET, or raise WebPageError. Each object has an ETag, and obstore requests none here."""
    if found.meta["e_tag"] is None and "html" in str(found.attributes.get("Content-Type", "")):
        raise WebPageError(_WEB_PAGE)
    return found


class ChangedError(Exception):
    """An object was replaced while its parts were read."""


class SameObject:
    """Checks that all parts come from the same object, which may be replaced between two requests."""

    def __init__(self) -> None:
        self._first: tuple[object, object] | None = None

    def __call__(self, found: Any) -> Any:
        """Return the answer to a GET, or raise ChangedError if an earlier answer came from another object."""
        version = (found.meta["e_tag"], found.meta["size"])
        self._first = self._first or version
        if self._first != version:
            raise ChangedError(_CHANGED)
        return found


class Meaning(enum.Enum):
    """What a failure means for the request."""

    ABSENT = "absent"
    """The object does not exist."""
    EXISTS = "exists"
    """The object exists already."""
    LOOK_AGAIN = "look again"
    """Another request for the same object is under way, or was just completed. This one did nothing."""
    EXPIRED = "expired"
    """The credentials have expired. The request did nothing."""
    BUSY = "busy"
    """The server or the network failed. The request may nevertheless have been executed."""
    UNSUPPORTED = "unsupported"
    """The store, or the library for this store, does not support the request."""
    REFUSED = "refused"
    """The request did nothing, and would fail again."""

    @property
    def is_transient(self) -> bool:
        """Whether the request did nothing, and may be sent again."""
        return self in {Meaning.EXPIRED, Meaning.LOOK_AGAIN}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request.

    Attributes:
        meaning: what it means for the request.
        status: the HTTP status; None if there was no answer.
        code: the server's code, such as `NoSuchBucket`.
        text: the message of the server or the network, in one line, without credentials.
    """

    meaning: Meaning
    status: int | None
    code: str | None
    text: str

    @classmethod
    def of(cls, error: BaseException, hide: Callable[[str], str] = str) -> Failure:
        """Parse an error of obstore.

        Args:
            error: the error.
            hide: removes secrets from a string.
        """
        raw = hide(str(error))
        status_text, code_text = _STATUS.search(raw), _CODE.search(raw)
        status = int(status_text[1]) if status_text else None
        code = (code_text[1] or code_text[2]) if code_text else None
        return cls(_meaning(type(error).__name__, status, code, raw), status, code, _line(raw, status, code))

    @property
    def is_web_page(self) -> bool:
        """Whether the answer did not come from an object store."""
        return self.text == _WEB_PAGE

    def of_new_object(self) -> Failure:
        """Return the failure of a request that needs no object: if something is absent, it is the bucket or the store."""
        refused = Failure(Meaning.REFUSED, self.status, self.code, self.text)
        return refused if self.meaning is Meaning.ABSENT else self

    def error(self, doing: str, table: str, path: str | None, *, may_be_done: bool = False, tried: str = "") -> DeltaError:
        """Return the error to raise.

        Args:
            doing: the intended action, such as `read`.
            table: the table's URI.
            path: the object, relative to the table; None for the whole table.
            may_be_done: whether an earlier attempt had no answer.
            tried: how often it was tried, for the end of the sentence.
        """
        return failed(
            "request-failed",
            table=table,
            file=path,
            request=doing,
            reason=self.text.rstrip("."),
            tried=tried,
            next_step=_next_step(self),
            status=self.status,
            code=self.code,
            is_refused=not may_be_done and self.meaning in {Meaning.REFUSED, Meaning.UNSUPPORTED, Meaning.EXPIRED},
            is_there=self.meaning is Meaning.EXISTS,
            is_unsupported=self.meaning is Meaning.UNSUPPORTED,
        )


_CODES: Final[Mapping[str, Meaning]] = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"), Meaning.EXPIRED),
    **dict.fromkeys(("NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "FilesystemNotFound"), Meaning.REFUSED),
    **dict.fromkeys(("ConditionalRequestConflict", "OperationAborted"), Meaning.LOOK_AGAIN),
    "RequestTimeout": Meaning.BUSY,  # with the status 400
    **dict.fromkeys(("NotImplemented", "UnsupportedHeader"), Meaning.UNSUPPORTED),
}
_CLASSES: Final[Mapping[str, Meaning]] = {
    "FileNotFoundError": Meaning.ABSENT,
    "AlreadyExistsError": Meaning.EXISTS,
    "PreconditionError": Meaning.EXISTS,
    "NotSupportedError": Meaning.UNSUPPORTED,
    "WebPageError": Meaning.REFUSED,
    "ChangedError": Meaning.REFUSED,
}
_NOT_HTTPS: Final = "BadScheme"  # in the dump of the library's error
_NO_TRUST: Final = re.compile(r"InvalidCertificate\(|InvalidContentType", re.ASCII)  # the same: no request was sent
_NO_CREDENTIALS: Final = "External AWS credential provider"  # obstore 0.12: the credential provider raised an error
_UNAUTHORISED: Final = frozenset({400, 401, 403})
# What servers say about expired credentials; the second is Azure's message for a SAS.
_EXPIRED: Final = re.compile("expired|Signature not valid in the specified time frame", re.ASCII)
_SAID: Final = re.compile(r"<(?:Code|Message|AuthenticationErrorDetail)>([^<]*)", re.ASCII)
# A proxy's status for a timeout, or for a client that left, while the server may still be at work. 499 is nginx's and Google's.
_TIMED_OUT: Final = frozenset({408, 499})
_TOO_MANY: Final = 429
_SERVER: Final = 500


def _meaning(name: str, status: int | None, code: str | None, raw: str) -> Meaning:
    if code is not None and code in _CODES:
        return _CODES[code]
    if status in _UNAUTHORISED and _says_expired(raw):
        return Meaning.EXPIRED
    if _NO_CREDENTIALS in raw:
        return Meaning.REFUSED
    if status == _TOO_MANY:
        return Meaning.LOOK_AGAIN
    if name in _CLASSES:
        return _CLASSES[name]
    # Without such an answer, a request may have been executed: the library may fail on the server's response.
    is_answered = status is not None and status < _SERVER and status not in _TIMED_OUT
    is_unsent = _NOT_HTTPS in raw or (status is None and _NO_TRUST.search(raw) is not None)
    return Meaning.REFUSED if is_answered or is_unsent else Meaning.BUSY


def _says_expired(raw: str) -> bool:
    """Whether the server says so. The error also names the object, and a table may be called `expired`."""
    answer = re.split(_STATUS, raw, maxsplit=1)[-1].partition("\n\nDebug source")[0]
    return _EXPIRED.search(" ".join(_SAID.findall(answer)) or answer) is not None


def _line(raw: str, status: int | None, code: str | None) -> str:
    """Return an error's message in one line. obstore adds a dump of Rust's structures, and servers quote what was signed."""
    message = _MESSAGE.search(raw)
    if status is not None and (code or message):
        said = [f"status {status}", *([code] if code else []), *([" ".join(message[1].split())] if message else [])]
        return ", ".join(said)
    if _NOT_HTTPS in raw:
        return _ONLY_HTTPS
    if _NO_CREDENTIALS in raw:
        raw = f"no credentials: {raw.partition(_NO_CREDENTIALS)[2].lstrip(': ')}"
    first, _, dump = raw.partition("\n\nDebug source")
    if _METADATA.search(first):
        return _NOBODY
    if status is None and "HttpError" in dump:
        why = next((text for found, text in _CONNECTIONS.items() if found in dump), None)
        if why is not None:
            address = _CONNECTED.search(dump) or _HOST.search(first)
            retries = _RETRIES.search(first)
            return f"{why}{f' ({address[1]})' if address else ''}{retries[0] if retries else ''}"
    text = _SECRET.sub("", first)
    text = _URL.sub(lambda found: redact_uri(found[0].partition("?")[0]), text)
    return " ".join(text.split())[:500]


_BUCKET_STEP: Final = "Correct the bucket's name in the path, or create the bucket."
_REGION_STEP: Final = "Set AWS_REGION (fs.s3a.endpoint.region) to the region of the bucket."
_WRONG_STEP: Final = "Correct the credentials, and check that the clock of this machine is right."
_PERMISSION_STEP: Final = (
    "Ask for the permissions to list the bucket, and to read, write and delete objects below the table's path."
)
_STEPS: Final[Mapping[str | int | None, str]] = {
    **dict.fromkeys(("NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "FilesystemNotFound"), _BUCKET_STEP),
    **dict.fromkeys(("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"), _REGION_STEP),
    **dict.fromkeys(
        ("InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthenticationFailed", "InvalidAuthenticationInfo"), _WRONG_STEP
    ),
    "RequestTimeTooSkewed": "Set the clock of this machine.",
    301: _REGION_STEP,
    404: "Check the endpoint and the bucket's name, because that server may not be an object store.",
    405: "Check the endpoint, because that server may not be an object store.",
    407: "Put the proxy's user and password into proxy_url, before the host.",
    401: _WRONG_STEP,
    **dict.fromkeys((403, "AccessDenied"), _PERMISSION_STEP),
    None: "Check the endpoint, its port, the proxy and the network.",
}
"""The next step by the server's code, otherwise by the status."""


_TRUST_STEP: Final = (
    "Give the authority's certificate as PEM text in the storage option root_certificate (for a proxy's: "
    "proxy_ca_certificate), or correct the endpoint."
)
_PROXY_STEP: Final = "Correct proxy_url, which may hold a user and a password, or list the endpoint's host in proxy_excludes."
_TLS_STEP: Final = "Give an https endpoint, because the server requires TLS at this port."
_TEXT_STEPS: Final[Mapping[str, str]] = {
    _WEB_PAGE: "Check the endpoint and its port, because that server is not an object store.",
    _CHANGED: "Read the table again.",
    _NOBODY: "Give credentials as storage options or in the environment (docs/object_stores.md has their names), or for public "
    "data set AWS_SKIP_SIGNATURE, GOOGLE_SKIP_SIGNATURE or AZURE_SKIP_SIGNATURE to true.",
    _ONLY_HTTPS: "Give an https endpoint, or set the storage option allow_http=true (fs.s3a.connection.ssl.enabled=false).",
    _CONNECTIONS["UnknownIssuer"]: _TRUST_STEP,
    _CONNECTIONS["NotValidForName"]: _TRUST_STEP,
    _CONNECTIONS["Expired"]: "Renew the certificate of the server.",
    _CONNECTIONS["InvalidContentType"]: "Give an http endpoint and allow_http=true (fs.s3a.connection.ssl.enabled=false), "
    "or correct the port.",
    _CONNECTIONS["ConnectionReset"]: "Check the endpoint (a server with TLS needs https), the proxy and the network.",
    _CONNECTIONS["kind: Timeout"]: "Raise timeout, read_timeout or connect_timeout, or check the endpoint and the proxy.",
    _CONNECTIONS["TunnelUnsuccessful"]: _PROXY_STEP,
    _CONNECTIONS["ProxyAuthRequired"]: _PROXY_STEP,
    "HTTP request to an HTTPS server": _TLS_STEP,  # of Go
    "HTTP request was sent to HTTPS port": _TLS_STEP,  # of nginx
    "ETag Header missing": "Check the endpoint and its port, because that server is not an object store.",
    "no credentials: ": "Renew the login, or correct the profile or role that gives the credentials.",
    "incorrectly configured region": _REGION_STEP,
    "invalid path": "Rename or delete that object, because a part of its key is empty, which no file of a table can have.",
}
"""The next step by a part of the failure's message. It takes precedence over the code and the status."""


def _next_step(failure: Failure) -> str:
    said = next((step for text, step in _TEXT_STEPS.items() if text in failure.text), None)
    if said is not None:
        return said
    if failure.meaning is Meaning.EXPIRED:
        return "Renew the credentials, because a session token or a SAS has expired."
    return (failure.code and _STEPS.get(failure.code)) or _STEPS.get(failure.status) or "Check what the server says."
