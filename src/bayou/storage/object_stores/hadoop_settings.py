# SPDX-License-Identifier: Apache-2.0
"""Hadoop's settings of S3A, ABFS and the GCS connector as storage options, so that log and data files are reached alike.

Sources: hadoop-aws 3.3 to 3.5, "General S3A Client configuration" and "Connecting to an Amazon S3 Bucket"; hadoop-azure, "ABFS";
the Cloud Storage connector's CONFIGURATION.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from bayou.errors import InvalidOptionError, redact_uri
from bayou.storage.object_stores.places import PUBLIC_CLOUD, ObjectPlace

PREFIXES: Final[Mapping[str, str]] = {"s3": "fs.s3a.", "gcs": "fs.gs.", "azure": "fs.azure."}
"""What the settings of a kind of store begin with."""

_SECRETS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("access.key", "secret.key", "session.token", "encryption.key"),
    "gcs": (),
    "azure": ("account.key", "account.oauth2.client.secret", "sas.fixed.token"),
}

Settings: TypeAlias = Mapping[str, str]

# Classes of S3A, and of the SDKs, by their simple names.
_PLAIN_KEYS: Final = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_ANONYMOUS: Final = frozenset({"AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider"})
_AWS_HOST: Final = re.compile(r"s3(?:[.-](?:dualstack\.)?(?P<region>[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?", re.ASCII)
_TENANT: Final = re.compile(r"https://(?P<host>[^/]+)/(?P<tenant>[^/]+)/oauth2", re.ASCII)


def storage_options(settings: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    """The storage options that mean the same as Hadoop's settings.

    Args:
        settings: Hadoop's settings of this kind of store, by their full names.
        place: where the table is.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: a setting that decides who asks has no counterpart; the error names the option to give instead.
    """
    return _KINDS[place.kind](settings, place, table)


def secret_names(place: ObjectPlace) -> list[str]:
    """The names of the settings that Hadoop's credential providers may hold instead of its configuration."""
    prefix = PREFIXES[place.kind]
    names = [f"{prefix}{name}" for name in _SECRETS[place.kind]]
    if place.kind == "s3":
        names += [f"{prefix}bucket.{place.bucket}.{name}" for name in _SECRETS["s3"]]
    if place.kind == "azure":
        names += [f"{name}.{place.account}.dfs.{place.cloud or PUBLIC_CLOUD}" for name in names]
    return names


def merged(settings: Settings, given: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    """Hadoop's settings as storage options, beneath those that the user gave.

    Who gives a credential of his own asks by that alone, and who gives an endpoint reaches it as he says.

    Args:
        settings: Hadoop's settings, by their full names.
        given: the user's storage options.
        place: where the table is.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: as `storage_options`.
    """
    names = {_short(name) for name in given}
    if names & _IDENTITY:
        settings = without_credentials(settings)
    found = storage_options(settings, place, table)
    left_out = set(names)
    if names & _IDENTITY:
        left_out |= _IDENTITY
    if "endpoint" in names:
        left_out |= {"endpoint", "virtual_hosted_style_request", "allow_http"}
    return {**{name: value for name, value in found.items() if _short(name) not in left_out}, **given}


def names_who_asks(given: Settings) -> bool:
    """Whether storage options bring credentials."""
    return any(_short(name) in _IDENTITY for name in given)


def without_credentials(settings: Settings) -> dict[str, str]:
    """Hadoop's settings without those that say how credentials are got."""
    return {name: value for name, value in settings.items() if not _WAYS_TO_ASK.search(name)}


def _short(name: str) -> str:
    """An option's name without the prefixes that may be left out, in one of its spellings."""
    lower = name.lower()
    for prefix in ("aws_", "google_", "azure_storage_", "azure_"):
        lower = lower.removeprefix(prefix)
    return _SPELLINGS.get(lower, lower)


# The settings that say how credentials are got.
_WAYS_TO_ASK: Final = re.compile(r"\.aws\.credentials\.provider$|^fs\.gs\.auth\.type$|^fs\.azure\.account\.auth\.type", re.ASCII)
_SPELLINGS: Final[Mapping[str, str]] = {
    "access_key": "account_key",
    "default_region": "region",
    "endpoint_url": "endpoint",
    "endpoint_url_s3": "endpoint",
    "master_key": "account_key",
    "sas_token": "sas_key",
    "service_account_path": "service_account",
    "token": "session_token",
}
_IDENTITY: Final = frozenset(
    {
        *("access_key_id", "secret_access_key", "session_token", "skip_signature", "role_arn", "role_session_name", "profile"),
        *("service_account", "service_account_key", "application_credentials", "bearer_token"),
        *("account_key", "sas_key", "client_id", "client_secret", "tenant_id", "authority_host", "federated_token_file"),
        *("msi_endpoint", "use_azure_cli"),
    }
)


def _of_s3(settings: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    found = _s3_settings(settings, place)
    options = _renamed(
        found,
        {
            "access.key": "aws_access_key_id",
            "secret.key": "aws_secret_access_key",
            "session.token": "aws_session_token",
            "endpoint.region": "aws_region",
        },
    )
    # S3A's timeout is that of a socket, and 0 means none.
    for name, option in (("connection.timeout", "read_timeout"), ("connection.establish.timeout", "connect_timeout")):
        if found.get(name, "0").strip().rstrip("smhd") not in {"", "0"}:
            options[option] = f"{found[name]}ms" if found[name].isdecimal() else found[name]
    options = {**_s3_endpoint(found, place), **options}
    if _is_true(found, "requester.pays.enabled"):
        options["aws_request_payer"] = "true"
    options |= _s3_encryption(found, table)
    if found.get("proxy.host"):
        scheme = "https" if _is_true(found, "proxy.ssl.enabled") else "http"
        port = f":{found['proxy.port']}" if found.get("proxy.port") else ""
        options["proxy_url"] = f"{scheme}://{found['proxy.host']}{port}"
    return options | ({"aws_skip_signature": "true"} if _first_provider(found) in _ANONYMOUS else {})


def _s3_settings(settings: Settings, place: ObjectPlace) -> dict[str, str]:
    """S3A's settings without their prefix; those of the bucket come first."""
    prefix = PREFIXES["s3"]
    of_bucket = f"{prefix}bucket.{place.bucket}."
    found = {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}
    return found | {name.removeprefix(of_bucket): value for name, value in settings.items() if name.startswith(of_bucket)}


def _s3_endpoint(found: Settings, place: ObjectPlace) -> dict[str, str]:
    endpoint = found.get("endpoint", "")
    is_by_path = _is_true(found, "path.style.access") or "." in place.bucket
    scheme, separator, host = endpoint.partition("://")
    if not separator:
        secure = found.get("connection.ssl.enabled", "true").strip().lower() != "false"
        scheme, host = "https" if secure else "http", endpoint
    host = host.rstrip("/")
    if not host:
        return {}
    aws = _AWS_HOST.fullmatch(host)
    if aws is not None:
        return {} if aws["region"] is None else {"aws_region": aws["region"]}
    if not is_by_path:
        host = f"{place.bucket}.{host}"  # object_store 0.14 takes the endpoint of the bucket then
    return {
        "aws_endpoint_url": f"{scheme}://{host}",
        "aws_virtual_hosted_style_request": "false" if is_by_path else "true",
        "allow_http": "true" if scheme == "http" else "false",
    }


def _s3_encryption(found: Settings, table: str) -> dict[str, str]:
    algorithm = found.get("encryption.algorithm") or found.get("server-side-encryption-algorithm")
    key = found.get("encryption.key") or found.get("server-side-encryption.key")
    match algorithm:
        case None | "":
            return {}
        case "AES256":
            return {"aws_server_side_encryption": "AES256"}
        case "SSE-KMS":
            return {"aws_server_side_encryption": "aws:kms"} | ({"aws_sse_kms_key_id": key} if key else {})
        case "DSSE-KMS":
            return {"aws_server_side_encryption": "aws:kms:dsse"} | ({"aws_sse_kms_key_id": key} if key else {})
        case "SSE-C":
            return {"aws_server_side_encryption": "sse-c"} | ({"aws_sse_customer_key_base64": key} if key else {})
        case _:
            raise _unmapped("fs.s3a.encryption.algorithm", algorithm, "AWS_SERVER_SIDE_ENCRYPTION", table)


def asks_s3a(settings: Settings, place: ObjectPlace) -> bool:
    """Whether only S3A itself knows the credentials, because a setting names a class of Java's that provides them."""
    if place.kind != "s3":
        return False
    found = _s3_settings(settings, place)
    first = _first_provider(found)
    return first is not None and first not in _ANONYMOUS and not (first in _PLAIN_KEYS and bool(found.get("access.key")))


def _first_provider(found: Settings) -> str | None:
    """The simple name of the first class that gives credentials; S3A asks them in turn. None where none is named."""
    named = [each.strip() for each in found.get("aws.credentials.provider", "").split(",") if each.strip()]
    return re.split(r"[.$]", named[0])[-1] if named else None


def _of_gcs(settings: Settings, _place: ObjectPlace, table: str) -> dict[str, str]:
    options = _renamed(
        settings,
        {
            "fs.gs.auth.service.account.json.keyfile": "google_service_account",
            "google.cloud.auth.service.account.json.keyfile": "google_service_account",
            "fs.gs.proxy.address": "proxy_url",
            "fs.gs.storage.root.url": "google_base_url",
        },
    )
    if options.get("google_base_url", "").startswith("http://"):
        options["allow_http"] = "true"
    kind = settings.get("fs.gs.auth.type", "")
    if kind == "UNAUTHENTICATED" or settings.get("fs.gs.auth.null.enable", "").lower() == "true":
        options["google_skip_signature"] = "true"
    elif kind in {"USER_CREDENTIALS", "ACCESS_TOKEN_PROVIDER", "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE"}:
        raise _unmapped("fs.gs.auth.type", kind, "GOOGLE_SERVICE_ACCOUNT", table)
    return options


def _of_azure(settings: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    def value(name: str) -> str | None:
        """A setting of the account, else of all accounts."""
        cloud = place.cloud or PUBLIC_CLOUD
        for suffix in (f".{place.account}.dfs.{cloud}", f".{place.account}.blob.{cloud}", ""):
            found = settings.get(f"fs.azure.{name}{suffix}")
            if found:
                return found
        return None

    options: dict[str, str] = {}
    kind = (value("account.auth.type") or "SharedKey").lower()
    if kind == "sharedkey":
        _put(options, "azure_storage_account_key", value("account.key"))
    elif kind == "sas":
        names = (f"sas.fixed.token.{place.bucket}", "sas.fixed.token")
        token = next((found for name in names if (found := value(name))), None)
        if token is None:
            raise _unmapped("fs.azure.account.auth.type", "SAS", "AZURE_STORAGE_SAS_KEY", table)
        options["azure_storage_sas_key"] = token
    elif kind == "oauth":
        options |= _azure_oauth(value, table)
    else:
        raise _unmapped("fs.azure.account.auth.type", kind, "AZURE_STORAGE_ACCOUNT_KEY", table)
    return options


def _azure_oauth(value: Callable[[str], str | None], table: str) -> dict[str, str]:
    provider = value("account.oauth.provider.type") or ""
    options: dict[str, str] = {}
    _put(options, "azure_storage_client_id", value("account.oauth2.client.id"))
    endpoint = _TENANT.match(value("account.oauth2.client.endpoint") or "")
    tenant = value("account.oauth2.msi.tenant") or (endpoint["tenant"] if endpoint else None)
    _put(options, "azure_storage_tenant_id", tenant)
    match provider.rpartition(".")[2]:
        case "ClientCredsTokenProvider":
            _put(options, "azure_storage_client_secret", value("account.oauth2.client.secret"))
            if endpoint:
                options["azure_storage_authority_host"] = f"https://{endpoint['host']}"
        case "MsiTokenProvider":
            _put(options, "azure_msi_endpoint", value("account.oauth2.msi.endpoint"))
        case "WorkloadIdentityTokenProvider":
            _put(options, "azure_federated_token_file", value("account.oauth2.token.file"))
        case _:
            raise _unmapped("fs.azure.account.oauth.provider.type", provider, "AZURE_STORAGE_CLIENT_ID", table)
    return options


_KINDS: Final[Mapping[str, Callable[[Settings, ObjectPlace, str], dict[str, str]]]] = {
    "s3": _of_s3,
    "gcs": _of_gcs,
    "azure": _of_azure,
}


def _renamed(settings: Settings, names: Mapping[str, str]) -> dict[str, str]:
    return {new: settings[old] for old, new in names.items() if settings.get(old)}


def _put(options: dict[str, str], name: str, value: str | None) -> None:
    if value:
        options[name] = value


def _is_true(settings: Settings, name: str) -> bool:
    return settings.get(name, "").strip().lower() == "true"


def _unmapped(setting: str, value: str, option: str, table: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"{setting} is {value}, and bayou cannot ask for credentials that way.",
        table=redact_uri(table),
        option=setting,
        next_step=f"Give the storage option {option}, or set another value.",
    )
