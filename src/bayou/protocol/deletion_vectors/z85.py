# SPDX-License-Identifier: Apache-2.0
"""Z85, the encoding of binary data in deletion vector descriptors.

Source: https://rfc.zeromq.org/spec/32/ (ZeroMQ's Base85), named by PROTOCOL.md, "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

from base64 import b85decode, b85encode

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
"""The same digits in Python's `base64`."""
_TO_Z85 = str.maketrans(_B85, _Z85)
# Digits that only Python's alphabet has are mapped to a character that neither has.
_FROM_Z85 = {ord(character): '"' for character in _B85} | str.maketrans(_Z85, _B85)
_BLOCK = 4
_TEXT_BLOCK = 5
_TAIL_MARK = "#"


def encode(data: bytes) -> str:
    """Encode bytes, padded with zero bytes to a multiple of four. A reader must know the length to remove the padding."""
    return b85encode(data, pad=True).decode().translate(_TO_Z85)


def decode(text: str, size_bytes: int | None = None) -> bytes:
    """Decode a string.

    Args:
        size_bytes: the number of encoded bytes; None to keep the padding.

    Raises:
        ValueError: the string is not Z85, or has the wrong length for the size.
    """
    if len(text) % _TEXT_BLOCK:
        raise ValueError(f"the length of a Z85 text is a multiple of 5, not {len(text)}")
    end = -_TEXT_BLOCK if text[-_TEXT_BLOCK:].startswith(_TAIL_MARK) else len(text)
    data = b85decode(text[:end].translate(_FROM_Z85)) + _decode_tail(text[end:])
    if size_bytes is None:
        return data
    if not 0 <= len(data) - size_bytes < _BLOCK:
        raise ValueError(f"the Z85 text holds {len(data)} bytes (padding included) where {size_bytes} are expected")
    return data[:size_bytes]


def _decode_tail(block: str) -> bytes:
    """Decode a last block that is padded like in Rust (delta-rs, delta-kernel-rs).

    Instead of zero bytes at the end it has a `#` at the beginning for each missing byte. A usual block cannot begin with `#`, since
    its word would exceed 32 bits.
    """
    if not block:
        return b""
    digits = block.lstrip(_TAIL_MARK)
    missing = _TEXT_BLOCK - len(digits)
    word = b85decode(("0" * missing + digits).translate(_FROM_Z85))
    if missing >= _BLOCK or any(word[:missing]):
        raise ValueError(f"the Z85 text ends in {block!r}, which is not a block")
    return word[missing:]
