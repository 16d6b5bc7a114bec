# SPDX-License-Identifier: Apache-2.0
"""An authority that signs the certificates of servers with TLS on 127.0.0.1."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificates:
    """What was made.

    Attributes:
        authority: the authority's certificate, as PEM text.
        server: the file with the server's certificate and key.
        expired: a file of the same kind, of a certificate that is over.
    """

    authority: str
    server: str
    expired: str


def make_certificates(folder: Path) -> Certificates:
    """Make an authority and certificates of it. Needs the package cryptography, which moto brings."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.timezone.utc)

    def sign(name, public_key, until, extensions):
        names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (name, "bayou's tests")]
        builder = x509.CertificateBuilder(names[1], names[0], public_key, x509.random_serial_number(), now - 9 * DAY, until)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(key, hashes.SHA256())

    def server(file, until):
        its_key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = sign("a server", its_key.public_key(), until, [hosts, x509.BasicConstraints(ca=False, path_length=None)])
        text = made.public_bytes(Encoding.PEM) + its_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / file).write_bytes(text)
        return str(folder / file)

    authority = sign("bayou's tests", key.public_key(), now + DAY, [x509.BasicConstraints(ca=True, path_length=None)])
    return Certificates(
        authority.public_bytes(Encoding.PEM).decode(), server("server.pem", now + DAY), server("expired.pem", now - DAY)
    )


def make_private_key() -> str:
    """A private RSA key, as a service account of Google's has one."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
