# SPDX-License-Identifier: Apache-2.0
"""Z85, the text form of binary data in deletion vector descriptors.

Source: https://rfc.zeromq.org/spec/32/ (ZeroMQ's Base85), named by PROTOCOL.md, "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}
_BLOCK = 4
_TEXT_BLOCK = 5
_BASE = 85
_WORD_LIMIT = 1 << 32


def encode(data: bytes) -> str:
    """The text of some bytes, padded with zero bytes to a multiple of four.

    The length of the data is not part of the text: the reader must know it to cut off the padding.
    """
    padded = data + b"\0" * (-len(data) % _BLOCK)
    return "".join(
        _encode_word(int.from_bytes(padded[start : start + _BLOCK], "big")) for start in range(0, len(padded), _BLOCK)
    )


def decode(text: str, size_bytes: int | None = None) -> bytes:
    """The bytes of a text, without the padding where the size is given.

    Args:
        text: a multiple of five characters.
        size_bytes: how many bytes were encoded; None keeps all, padding included.

    Raises:
        ValueError: the text is no Z85, or holds fewer bytes than the size says or a further block.
    """
    if len(text) % _TEXT_BLOCK:
        raise ValueError(f"the length of a Z85 text is a multiple of 5, not {len(text)}")
    data = b"".join(_decode_word(text[start : start + _TEXT_BLOCK]) for start in range(0, len(text), _TEXT_BLOCK))
    if size_bytes is None:
        return data
    if not 0 <= len(data) - size_bytes < _BLOCK:
        raise ValueError(f"the Z85 text holds {len(data)} bytes (padding included) where {size_bytes} are expected")
    return data[:size_bytes]


def _encode_word(word: int) -> str:
    characters = ""
    for _ in range(_TEXT_BLOCK):
        word, digit = divmod(word, _BASE)
        characters = _ALPHABET[digit] + characters
    return characters


def _decode_word(block: str) -> bytes:
    word = 0
    for character in block:
        digit = _DIGITS.get(character)
        if digit is None:
            raise ValueError(f"{character!r} is no Z85 character")
        word = word * _BASE + digit
    # Blocks above 32 bits exist in published tables, where a JVM padded with sign bits; its decoder wraps around.
    return (word % _WORD_LIMIT).to_bytes(_BLOCK, "big")
