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
_TAIL_MARK = "#"


def encode(data: bytes) -> str:
    """The text of some bytes, padded with zero bytes to a multiple of four.

    The length of the data is not part of the text: the reader must know it to cut off the padding.
    """
    padded = data + b"\0" * (-len(data) % _BLOCK)
    return "".join(_encode_word(int.from_bytes(padded[start : start + _BLOCK], "big")) for start in range(0, len(padded), _BLOCK))


def decode(text: str, size_bytes: int | None = None) -> bytes:
    """The bytes of a text, without the padding where the size is given.

    Args:
        size_bytes: how many bytes were encoded; None keeps all, padding included.

    Raises:
        ValueError: the text is no Z85, or holds fewer bytes than the size says or a further block.
    """
    if len(text) % _TEXT_BLOCK:
        raise ValueError(f"the length of a Z85 text is a multiple of 5, not {len(text)}")
    blocks = [text[start : start + _TEXT_BLOCK] for start in range(0, len(text), _TEXT_BLOCK)]
    tail = _decode_tail(blocks.pop()) if blocks and blocks[-1].startswith(_TAIL_MARK) else b""
    data = b"".join(map(_decode_word, blocks)) + tail
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


def _decode_tail(block: str) -> bytes:
    """The last block as Rust writers of Delta tables (delta-rs, delta-kernel-rs) pad it.

    Instead of zero bytes behind the data there is a `#` before the digits for each byte that is missing to four. No other
    block starts so: its word would have more than 32 bits.
    """
    digits = block.lstrip(_TAIL_MARK)
    size = len(digits) - 1
    word = 0
    for character in digits:
        word = word * _BASE + _digit(character)
    if not 0 < size < _BLOCK or word >> (8 * size):
        raise ValueError(f"the Z85 text ends in {block!r}, which is no block")
    return word.to_bytes(size, "big")


def _decode_word(block: str) -> bytes:
    word = 0
    for character in block:
        word = word * _BASE + _digit(character)
    if word >= _WORD_LIMIT:
        raise ValueError(f"the Z85 block {block!r} has more than 32 bits")
    return word.to_bytes(_BLOCK, "big")


def _digit(character: str) -> int:
    digit = _DIGITS.get(character)
    if digit is None:
        raise ValueError(f"{character!r} is no Z85 character")
    return digit
