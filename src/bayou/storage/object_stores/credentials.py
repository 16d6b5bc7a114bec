# SPDX-License-Identifier: Apache-2.0
"""Get AWS credentials that obstore does not find automatically: those of a profile, and those of a role.

object_store 0.14 looks at the environment, a web identity, and the metadata of containers and instances. botocore knows the
profiles of `~/.aws`, which `aws configure` and `aws sso login` write, and assumes roles with other credentials.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final, TypeAlias

from bayou.errors import failed

Credentials: TypeAlias = Callable[[], Mapping[str, Any]]
"""Returns AWS credentials for obstore: `access_key_id`, `secret_access_key`, `token` and `expires_at`."""

PROFILE: Final = "aws_profile"
"""The storage option that names a profile."""
_ROLE: Final = "aws_role_arn"
_SESSION_NAME: Final = "aws_role_session_name"
_REGION: Final = "aws_region"
_ENDPOINT: Final = "aws_endpoint_url"
_STS_ENDPOINT: Final = "aws_endpoint_url_sts"
_DEFAULT_REGIONS: Final = frozenset({"aws_default_region", "default_region"})
# Variables that take precedence over a profile.
_VARIABLES: Final = {
    _REGION: ("AWS_REGION", "AWS_DEFAULT_REGION"),
    _ENDPOINT: ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"),
}
_TOKEN_FILE: Final = "aws_web_identity_token_file"  # noqa: S105  (the name of an option)
_KEYS: Final = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
# What obstore authenticates with, if it is in the options or the environment.
_OF_OBSTORE: Final = (
    *("aws_access_key_id", _TOKEN_FILE, "aws_container_credentials_relative_uri"),
    "aws_container_credentials_full_uri",
)
# A profile's settings for credentials. A profile with only a region is that of a machine whose metadata has them.
_SAYS_WHO: Final = ("aws_access_key_id", "credential_process", "role_arn", "sso_session", "sso_start_url", "login_session")
# Names that obstore accepts with and without their prefix.
_WITHOUT_PREFIX: Final = {
    name.removeprefix("aws_"): name
    for name in (PROFILE, _ROLE, _SESSION_NAME, _REGION, _ENDPOINT, _STS_ENDPOINT, *_KEYS, *_OF_OBSTORE, "aws_skip_signature")
} | {"token": _KEYS[2], "aws_token": _KEYS[2], "endpoint": _ENDPOINT, "aws_endpoint": _ENDPOINT}
_ASKED_AGAIN_AFTER: Final = timedelta(seconds=60)


def aws_credentials(store: Mapping[str, str], table: str) -> tuple[dict[str, str], Credentials | None]:
    """Return obstore's options without those that only botocore understands, and the credentials from botocore.

    Args:
        store: obstore's options, by their names in lower case.
        table: the table's URI, for errors.

    Returns:
        The options for obstore, and the credentials; None if obstore finds them itself.

    Raises:
        MissingPackageError: the options name a profile or a role, and botocore is not installed.
        InvalidOptionError: the profile does not exist, or has no credentials.
    """
    options = {_WITHOUT_PREFIX.get(name, name): value for name, value in store.items()}
    profile = options.pop(PROFILE, None)
    role = options.get(_ROLE)
    if options.get("aws_skip_signature", "").lower() == "true":
        return options, None
    # A token file in the environment assumes the role, unless the options name credentials.
    says_who = profile is not None or _KEYS[0] in options
    has_token_file = _TOKEN_FILE in options or (_TOKEN_FILE.upper() in os.environ and not says_who)
    if role is not None and not has_token_file:
        session = _session(profile, table)
        return _of_role(options, session, table)
    if profile is None:
        if any(name in options or name.upper() in os.environ for name in _OF_OBSTORE):
            return options, None
        profile = os.environ.get("AWS_PROFILE")
        if profile is None and not _has_default_profile():
            return options, None
    session = _session(profile, table)
    found = _of_session(session, profile, table)
    if found is None:
        return options, None
    region = session.get_config_variable("region")
    endpoint = session.get_scoped_config().get("endpoint_url")
    for name, value in ((_REGION, region), (_ENDPOINT, endpoint)):
        is_given = name in options or any(os.environ.get(each) for each in _VARIABLES[name])
        if value and not is_given and not (name == _REGION and _DEFAULT_REGIONS & options.keys()):
            options[name] = value
    return options, _OfProfile(profile or "default", found)


@dataclass(frozen=True)
class _OfProfile:
    profile: str
    found: Any = field(compare=False)  # one for each table; the server copies between tables of one profile

    def __call__(self) -> Mapping[str, Any]:
        keys = self.found.get_frozen_credentials()  # botocore renews what expires soon
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret_key,
            "token": keys.token,
            "expires_at": datetime.now(timezone.utc) + _ASKED_AGAIN_AFTER,
        }


@dataclass(frozen=True)
class _OfRole:
    role: str
    session_name: str
    client: Any
    options: Mapping[str, str] = field(repr=False)  # the credentials that assume the role

    def __call__(self) -> Mapping[str, Any]:
        found = self.client.assume_role(RoleArn=self.role, RoleSessionName=self.session_name)["Credentials"]
        return {
            "access_key_id": found["AccessKeyId"],
            "secret_access_key": found["SecretAccessKey"],
            "token": found["SessionToken"],
            "expires_at": found["Expiration"].astimezone(timezone.utc),  # obstore 0.12 accepts no other zone
        }


def _of_role(options: dict[str, str], session: Any, table: str) -> tuple[dict[str, str], Credentials]:
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  (installed, since it made the session)

    role, session_name = options.pop(_ROLE), options.pop(_SESSION_NAME, "bayou")
    keys: dict[str, str] = {name: options.pop(name) for name in _KEYS if name in options}
    region = options.get(_REGION) or os.environ.get("AWS_REGION") or session.get_config_variable("region") or "us-east-1"
    try:
        client = session.create_client(
            "sts",
            region_name=region,
            endpoint_url=options.pop(_STS_ENDPOINT, None),
            **keys,
        )
    except BotoCoreError as error:
        raise failed("DELTA_ILLEGAL_OPTION/aws-role", table=table, option=_ROLE, reason=_in_a_line(error)) from error
    return options, _OfRole(role, session_name, client, keys)


def _session(profile: str | None, table: str) -> Any:
    try:
        import botocore.exceptions  # noqa: PLC0415  (not needed by most)
        import botocore.session  # noqa: PLC0415
    except ImportError as error:
        raise failed("botocore-missing", table=table, package="botocore") from error
    session = botocore.session.Session(profile=profile)
    try:
        session.get_scoped_config()
    except botocore.exceptions.ProfileNotFound as error:
        name = os.environ.get("AWS_PROFILE") if profile is None else profile
        raise failed("DELTA_ILLEGAL_OPTION/aws-profile", table=table, option=PROFILE, profile=name) from error
    except botocore.exceptions.BotoCoreError as error:
        raise failed("DELTA_ILLEGAL_OPTION/aws-configuration", table=table, option=PROFILE, reason=_in_a_line(error)) from error
    return session


def _of_session(session: Any, profile: str | None, table: str) -> Any:
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  (installed, since it made the session)

    try:
        found = session.get_credentials()
        why = ""
    except BotoCoreError as error:
        found, why = None, f": {_in_a_line(error)}"
    if found is None and (profile is not None or why):
        named = profile or "default"
        raise failed("DELTA_ILLEGAL_OPTION/aws-credentials", table=table, option=PROFILE, profile=named, reason=why)
    return found


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _has_default_profile() -> bool:
    return any(
        _has_default(name, file) for name, file in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config"))
    )


def _has_default(variable: str, name: str) -> bool:
    file = configparser.RawConfigParser()
    try:
        file.read(os.environ.get(variable) or Path.home() / ".aws" / name, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        return False
    return file.has_section("default") and any(file.has_option("default", each) for each in _SAYS_WHO)
