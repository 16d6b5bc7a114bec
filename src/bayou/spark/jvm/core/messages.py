# SPDX-License-Identifier: Apache-2.0
"""Encode the messages with which the Java adapters ask Python.

A message is one string: each call through py4j costs a tenth of a millisecond, and an array would cost one call per element.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayou.errors import DeltaError, failed

_END = "\0"


@dataclass(frozen=True, slots=True)
class Message:
    """A question of an adapter: a word, and the arguments in the order of the adapter."""

    word: str
    texts: tuple[str, ...] = ()

    @classmethod
    def decode(cls, text: str) -> Message:
        """Decode a message: its word and its arguments, each ended by NUL.

        Raises:
            SessionError: the message does not end with NUL.
        """
        word, *texts = text.split(_END)
        if not texts or texts.pop():
            raise failed("adapter-message", given=text)
        return cls(word, tuple(texts))

    def encode(self) -> str:
        """Return the string that an adapter sends for this message."""
        return "".join(text + _END for text in (self.word, *self.texts))

    @property
    def pairs(self) -> dict[str, str]:
        """The arguments as a dictionary, if keys and values alternate."""
        return dict(zip(self.texts[::2], self.texts[1::2], strict=True))

    def unknown(self) -> DeltaError:
        """Return the error for a word that the receiver does not know."""
        return failed("adapter-word", word=self.word)
