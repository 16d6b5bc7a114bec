# SPDX-License-Identifier: Apache-2.0
"""Convert Hadoop's settings of S3A, ABFS and the GCS connector to storage options, so that log and data files use the same ones.

Sources: hadoop-aws 3.3 to 3.5, "General S3A Client configuration" and "Connecting to an Amazon S3 Bucket"; hadoop-azure, "ABFS";
the Cloud Storage connector's CONFIGURATION.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import quote

from bayou.errors import DeltaError, failed
from bayou.storage.object_stores.places import PUBLIC_CLOUD, ObjectPlace

PREFIXES: Final[Mapping[str, str]] = {"s3": "fs.s3a.", "gcs": "fs.gs.", "azure": "fs.azure."}
"""The prefix of the settings of each kind of store."""

_SECRETS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("access.key", "secret.key", "session.token", "encryption.key", "proxy.username", "proxy.password"),
    "gcs": ("proxy.username", "proxy.password"),
    "azure": ("account.key", "account.oauth2.client.secret", "sas.fixed.token", "encryption.encoded.client-provided-key"),
}

Settings: TypeAlias = Mapping[str, str]

# Classes of S3A, and of the SDKs, by their simple names.
_PLAIN_KEYS: Final = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_ANONYMOUS: Final = frozenset({"AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider"})
# Without those hosts of S3 that belong to no region, such as `s3-accelerate`.
_AWS_HOST: Final = re.compile(
    r"s3(?:[.-](?:dualstack\.)?(?P<region>[a-z]+(?:-[a-z]+)+-\d+))?\.amazonaws\.com(?P<china>\.cn)?", re.ASCII
)
_TENANT: Final = re.compile(r"https://(?P<host>[^/]+)/(?P<tenant>[^/]+)/oauth2", re.ASCII)


def storage_options(settings: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    """Return the storage options that have the same effect as Hadoop's settings.

    Args:
        settings: Hadoop's settings of this kind of store, by their full names.
        place: the table's location.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: a setting for credentials has no counterpart; the error names the option to use instead.
    """
    return _KINDS[place.kind](settings, place, table)


def secret_names(place: ObjectPlace) -> list[str]:
    """Return the names of the settings that Hadoop's credential providers may hold instead of its configuration."""
    prefix = PREFIXES[place.kind]
    names = [f"{prefix}{name}" for name in _SECRETS[place.kind]]
    if place.kind == "s3":
        names += [f"{prefix}bucket.{place.bucket}.{name}" for name in _SECRETS["s3"]]
    if place.kind == "azure":
        names += [f"{name}.{place.account}.dfs.{place.cloud or PUBLIC_CLOUD}" for name in names]
    return names


def merged(settings: Settings, given: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    """Return Hadoop's settings as storage options, and the user's options, which take precedence.

    A user's credential excludes all credentials of the settings. The same applies to an endpoint, to encryption and to a proxy.

    Args:
        settings: Hadoop's settings, by their full names.
        given: the user's storage options.
        place: the table's location.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: as `storage_options`.
    """
    names = {short_name(name) for name in given}
    left_out = set(names)
    for group, its_settings in _GROUPS:
        if names & group:
            settings = {name: value for name, value in settings.items() if not its_settings.search(name)}
            left_out |= group
    found = storage_options(settings, place, table)
    if "endpoint" in names:
        left_out |= {"endpoint", "virtual_hosted_style_request", "allow_http"}
    return {**{name: value for name, value in found.items() if short_name(name) not in left_out}, **given}


def without_session(given: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    """Return storage options without a session's settings. Options that are Hadoop's settings are converted.

    Args:
        given: the user's storage options.
        place: the table's location.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: as `storage_options`, or a Java class provides the credentials.
    """
    settings = {name: value for name, value in given.items() if name.startswith("fs.")}
    own = {name: value for name, value in given.items() if name not in settings}
    if not names_who_asks(own) and asks_s3a(settings, place):
        name = f"{PREFIXES['s3']}aws.credentials.provider"
        raise _unmapped(name, str(_first_provider(_s3_settings(settings, place))), "AWS_PROFILE or AWS_ACCESS_KEY_ID", table)
    return merged(settings, own, place, table) if settings else own


def names_who_asks(given: Settings) -> bool:
    """Whether storage options contain credentials."""
    return any(short_name(name) in _IDENTITY for name in given)


def without_credentials(settings: Settings) -> dict[str, str]:
    """Return Hadoop's settings without those for getting credentials."""
    return {name: value for name, value in settings.items() if not _WAYS_TO_ASK.search(name)}


def short_name(name: str) -> str:
    """Return an option's name without optional prefixes, in one of its spellings."""
    lower = name.lower()
    for prefix in ("aws_", "google_", "azure_storage_", "azure_"):
        lower = lower.removeprefix(prefix)
    return _SPELLINGS.get(lower, lower)


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
        *("msi_endpoint", "use_azure_cli", "web_identity_token_file", "container_authorization_token_file"),
        *("container_credentials_relative_uri", "container_credentials_full_uri"),
    }
)
_ENCRYPTION: Final = frozenset(
    {"server_side_encryption", "sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64", "encryption_key"}
)
# The settings for getting credentials.
_WAYS_TO_ASK: Final = re.compile(
    r"\.aws\.credentials\.provider$|\.security\.credential\.provider\.path$|\.delegation\.token\.binding$"
    r"|^fs\.gs\.auth\.|^google\.cloud\.auth\.|^fs\.azure\.account\.(?:auth\.type|keyprovider)"
    r"|^fs\.azure\.sas\.token\.provider\.type",
    re.ASCII,
)
# Options that belong together, and the settings that are ignored if one of them is set, even if they have no counterpart.
_GROUPS: Final = (
    (_IDENTITY, _WAYS_TO_ASK),
    (_ENCRYPTION, re.compile(r"\.(?:server-side-|client-provided-)?encryption[.-]", re.ASCII)),
    (frozenset({"proxy_url"}), re.compile(r"\.proxy\.", re.ASCII)),
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
    if "aws_region" in options:
        options["aws_region"] = options["aws_region"].strip()
    _check_s3(found, table)
    options = {**_s3_endpoint(found, place, table), **options, **_s3_connections(found)}
    if _is_true(found, "requester.pays.enabled"):
        options["aws_request_payer"] = "true"
    options |= _s3_encryption(found, table)
    # object_store supports no other algorithms. For those, send SHA-256.
    checksum = found.get("create.checksum.algorithm", "").strip().upper().replace("_", "")
    if checksum not in {"", "NONE"}:
        options["aws_checksum_algorithm"] = "crc64nvme" if checksum == "CRC64NVME" else "sha256"
    return options | ({"aws_skip_signature": "true"} if _first_provider(found) in _ANONYMOUS else {})


def _s3_settings(settings: Settings, place: ObjectPlace) -> dict[str, str]:
    """Return S3A's settings without their prefix; those of the bucket take precedence."""
    prefix = PREFIXES["s3"]
    of_bucket = f"{prefix}bucket.{place.bucket}."
    found = {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}
    return found | {name.removeprefix(of_bucket): value for name, value in settings.items() if name.startswith(of_bucket)}


# What S3A does because of these, and what to use instead.
_S3_WITHOUT_COUNTERPART: Final[Mapping[str, tuple[str, str]]] = {
    "accesspoint.arn": ("send requests to an access point by its ARN", "Use the access point's alias as the bucket in the path."),
    "delegation.token.binding": ("ask with delegation tokens", "Give the storage option AWS_ACCESS_KEY_ID."),
    "encryption.context": ("send an encryption context", "Leave the setting out for this bucket."),
    "proxy.domain": ("log on to a proxy with NTLM", "Give the storage option proxy_url."),
    "proxy.workstation": ("log on to a proxy with NTLM", "Give the storage option proxy_url."),
    "security.credential.provider.path": (
        "read the credential file of S3A",
        "Set hadoop.security.credential.provider.path, or give the storage option AWS_ACCESS_KEY_ID.",
    ),
}
_SIGNERS: Final = frozenset({"", "AWSS3V4SignerType", "AWS4SignerType", "AwsS3V4Signer", "Aws4Signer"})


def _check_s3(found: Settings, table: str) -> None:
    """Raise InvalidOptionError for settings of credentials, hosts or security without a counterpart."""
    for name, (what, instead) in _S3_WITHOUT_COUNTERPART.items():
        if found.get(name, "").strip():
            raise _without_counterpart(f"fs.s3a.{name}", what, instead, table)
    for name in ("signing-algorithm", "s3.signing-algorithm"):
        if found.get(name, "").strip() not in _SIGNERS:
            raise _without_counterpart(f"fs.s3a.{name}", "sign in another way than AWS's version 4", "Leave it out.", table)
    if _is_true(found, "http.signer.enabled"):
        raise _without_counterpart("fs.s3a.http.signer.enabled", "sign in another way than AWS's version 4", "Leave it out.", table)


def _s3_connections(found: Settings) -> dict[str, str]:
    options = _renamed(
        found,
        {"attempts.maximum": "max_retries", "connection.maximum": "pool_max_idle_per_host", "user.agent.prefix": "user_agent"},
    )
    # S3A's timeout is a socket's, and 0 means none.
    for name, option in (
        ("connection.timeout", "read_timeout"),
        ("connection.establish.timeout", "connect_timeout"),
        ("connection.request.timeout", "timeout"),
        ("connection.idle.time", "pool_idle_timeout"),
    ):
        _put(options, option, _milliseconds(found.get(name)))
    if found.get("proxy.host"):
        scheme = "https" if _is_true(found, "proxy.ssl.enabled") else "http"
        port = f":{found['proxy.port']}" if found.get("proxy.port") else ""
        options["proxy_url"] = _with_user(f"{scheme}://{found['proxy.host']}{port}", found, "proxy.")
    return options


def _milliseconds(value: str | None) -> str | None:
    """Return a time of Hadoop's as an option; None for 0, which means none. A number without a unit is milliseconds."""
    text = (value or "").strip()
    if text.rstrip("smhd") in {"", "0"}:
        return None
    return f"{text}ms" if text.isdecimal() else text


def _with_user(address: str, found: Settings, prefix: str) -> str:
    """Return the address of a proxy with its user and password."""
    user, password = found.get(f"{prefix}username", ""), found.get(f"{prefix}password", "")
    if not user:
        return address
    scheme, separator, host = address.rpartition("://")
    return f"{scheme}{separator or 'http://'}{quote(user, safe='')}:{quote(password, safe='')}@{host}"


def _s3_endpoint(found: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    endpoint = _fips_endpoint(found, table) if _is_true(found, "endpoint.fips") else found.get("endpoint", "").strip()
    is_by_path = _is_true(found, "path.style.access") or "." in place.bucket
    scheme, separator, host = endpoint.partition("://")
    if not separator:
        secure = found.get("connection.ssl.enabled", "true").strip().lower() != "false"
        scheme, host = "https" if secure else "http", endpoint
    host = host.rstrip("/")
    if not host:
        return {}
    # A number has no host names below it, so the AWS SDK of S3A uses paths there, whatever the setting says.
    is_by_path = is_by_path or _is_ip_address(host)
    aws = _AWS_HOST.fullmatch(host)
    region = {} if aws is None or aws["region"] is None else {"aws_region": aws["region"]}
    if aws is not None and aws["china"] is None:  # object_store 0.14 knows the hosts of the other regions
        return region
    if not is_by_path:
        host = f"{place.bucket}.{host}"  # object_store 0.14 then takes the bucket's endpoint
    return {
        **region,
        "aws_endpoint_url": f"{scheme}://{host}",
        "aws_virtual_hosted_style_request": "false" if is_by_path else "true",
        "allow_http": "true" if scheme == "http" else "false",
    }


def _is_ip_address(host: str) -> bool:
    """Return whether a host is an IP address, with or without a port."""
    if host.startswith("["):
        return True
    try:
        ip_address(host.rpartition(":")[0] or host)
    except ValueError:
        return False
    return True


def _fips_endpoint(found: Settings, table: str) -> str:
    """Return the host with FIPS encryption, which S3A gets from the SDK."""
    region = found.get("endpoint.region", "").strip()
    if found.get("endpoint") or not region:
        instead = "Set fs.s3a.endpoint.region, and leave fs.s3a.endpoint out."
        raise _without_counterpart("fs.s3a.endpoint.fips", "find the FIPS host", instead, table)
    return f"https://s3-fips.{region}.amazonaws.com"


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
            known = "Give AES256, SSE-KMS, DSSE-KMS or SSE-C, or the storage option AWS_SERVER_SIDE_ENCRYPTION."
            raise _without_counterpart("fs.s3a.encryption.algorithm", f"encrypt by {algorithm}", known, table)


def asks_s3a(settings: Settings, place: ObjectPlace) -> bool:
    """Whether only S3A itself knows the credentials, because a setting names a Java class that provides them."""
    if place.kind != "s3":
        return False
    found = _s3_settings(settings, place)
    first = _first_provider(found)
    return first is not None and first not in _ANONYMOUS and not (first in _PLAIN_KEYS and bool(found.get("access.key")))


def _first_provider(found: Settings) -> str | None:
    """Return the simple name of the first class that provides credentials, which S3A asks in order; None if none is named."""
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
    if "proxy_url" in options:
        options["proxy_url"] = _with_user(options["proxy_url"], settings, "fs.gs.proxy.")
    _check_gcs(settings, table)
    kind = settings.get("fs.gs.auth.type", "")
    if kind == "UNAUTHENTICATED" or settings.get("fs.gs.auth.null.enable", "").lower() == "true":
        options["google_skip_signature"] = "true"
    elif kind in {"USER_CREDENTIALS", "ACCESS_TOKEN_PROVIDER", "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE"}:
        raise _unmapped("fs.gs.auth.type", kind, "GOOGLE_SERVICE_ACCOUNT", table)
    return options


def _check_gcs(settings: Settings, table: str) -> None:
    """Raise InvalidOptionError for settings of credentials, payment or security without a counterpart."""
    for name in settings:
        if name.startswith("fs.gs.encryption.") and settings[name]:
            raise _without_counterpart(
                name, "send a key of your own", "Leave it out, and use the bucket's key in Cloud KMS.", table
            )
        if ".auth.impersonation.service.account" in name and settings[name]:
            raise _without_counterpart(name, "act as another service account", "Give GOOGLE_SERVICE_ACCOUNT.", table)
    if settings.get("fs.gs.requester.pays.mode", "DISABLED").upper() not in {"", "DISABLED"}:
        raise _without_counterpart("fs.gs.requester.pays.mode", "have the requester pay", "Set it to DISABLED.", table)


def _of_azure(settings: Settings, place: ObjectPlace, table: str) -> dict[str, str]:
    def value(name: str) -> str | None:
        """Return a setting of the account, otherwise of all accounts."""
        cloud = place.cloud or PUBLIC_CLOUD
        for suffix in (f".{place.account}.dfs.{cloud}", f".{place.account}.blob.{cloud}", ""):
            found = settings.get(f"fs.azure.{name}{suffix}")
            if found:
                return found
        return None

    options: dict[str, str] = {}
    _check_azure(value, table)
    _put(options, "azure_storage_encryption_key", value("encryption.encoded.client-provided-key"))
    _put(options, "user_agent", value("user.agent.prefix"))
    _put(options, "max_retries", value("io.retry.max.retries"))
    _put(options, "connect_timeout", _milliseconds(value("http.connection.timeout")))
    _put(options, "read_timeout", _milliseconds(value("http.read.timeout")))
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


def _check_azure(value: Callable[[str], str | None], table: str) -> None:
    """Raise InvalidOptionError for settings of credentials or security without a counterpart."""
    for name in ("encryption.context.provider.type", "client-provided-encryption-key"):
        if value(name):
            raise _without_counterpart(
                f"fs.azure.{name}", "encrypt that way", "Give the storage option AZURE_STORAGE_ENCRYPTION_KEY.", table
            )
    for name, known, option in (
        ("account.keyprovider", "SimpleKeyProvider", "AZURE_STORAGE_ACCOUNT_KEY"),
        ("sas.token.provider.type", "FixedSASTokenProvider", "AZURE_STORAGE_SAS_KEY"),
    ):
        provider = value(name) or known
        if provider.rpartition(".")[2] != known:
            raise _unmapped(f"fs.azure.{name}", provider, option, table)


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


def _unmapped(setting: str, value: str, option: str, table: str) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/credential-provider", table=table, option=setting, provider=value, instead=option)


def _without_counterpart(setting: str, what: str, instead: str, table: str) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/hadoop-setting", table=table, option=setting, effect=what, instead=instead)
