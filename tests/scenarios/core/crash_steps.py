# SPDX-License-Identifier: Apache-2.0
"""The steps of a writer on a local disk by name, and a process that stops at one of them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayou.protocol.actions.file_names import SIDECAR_FOLDER, LogFileKind, parse_log_file_name
from bayou.storage import LocalStore

if TYPE_CHECKING:
    from typing_extensions import Self

_MADE: Final = ("opened", "half written", "written", "synced")
_PUT_IF_ABSENT: Final = (*_MADE, "named", "sibling dropped", "folder synced", "cleared")
_PUT: Final = (*_MADE, "sibling dropped", "named", "folder synced", "cleared")


def _steps(kind: str, names: tuple[str, ...]) -> list[str]:
    return [f"{kind}: {name}" for name in names]


STEPS: Final = (
    *_steps("table", ("folder made", "folder synced")),
    *_steps("data file", (*_MADE, "folder synced")),
    *_steps("commit", _PUT_IF_ABSENT),
    *_steps("checksum", _PUT_IF_ABSENT),
    *_steps("checkpoint", _PUT),
    *_steps("last checkpoint", _PUT),
    *_steps("sidecar", _PUT_IF_ABSENT),
    *(
        f"cleanup: {kind} {when}"
        for kind in ("commit", "checksum", "checkpoint", "sidecar", "temporary file")
        for when in ("about to go", "gone")
    ),
)
"""Between two calls of the file system each; a step has the name of what was done last."""

_TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{32}\.tmp")


class Stepper:
    """Counts the steps of this process, and does something at one of them.

    The functions of the standard library through which bayou's local store writes are replaced, so this is for a process
    that ends soon.
    """

    def __init__(self, act: Callable[[str], None]) -> None:
        """Replace the functions.

        Args:
            act: called with the name of each step; it may raise in the place of the file system.
        """
        self._act = act
        self._kind = "table"
        self._quiet = False
        self._paths: dict[int, Path] = {}
        self._path_open, self._fsync, self._os_open = Path.open, os.fsync, os.open
        self._replace_functions()

    def _replace_functions(self) -> None:
        os.fsync = self._spy_fsync  # type: ignore[assignment]
        os.open = self._spy_os_open
        os.link = self._after(os.link, "named")
        for owner, name, spy in (
            (Path, "open", self._spy_path_open()),
            (Path, "mkdir", self._method(Path.mkdir, self._made)),
            (Path, "replace", self._method(Path.replace, lambda _: "named")),
            (Path, "unlink", self._method(Path.unlink, self._unlinked)),
            (LocalStore, "delete", self._spy_delete()),
        ):
            setattr(owner, name, spy)

    def reach(self, name: str, *, kind: str | None = None) -> None:
        """A step is done."""
        if not self._quiet:
            self._act(f"{kind or self._kind}: {name}")

    @contextlib.contextmanager
    def _silence(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _after(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def spy(*arguments: Any, **options: Any) -> Any:
            answer = function(*arguments, **options)
            self.reach(name)
            return answer

        return spy

    def _method(self, function: Callable[..., Any], name_of: Callable[[Path], str | None]) -> Callable[..., Any]:
        def spy(path: Path, *arguments: Any, **options: Any) -> Any:
            answer = function(path, *arguments, **options)
            name = name_of(path)
            if name is not None:
                self.reach(name)
            return answer

        return spy

    def _made(self, _: Path) -> str:
        self._kind = "table"
        return "folder made"

    def _unlinked(self, path: Path) -> str | None:
        if _TEMPORARY.fullmatch(path.name):
            return "cleared"
        return "sibling dropped" if path.suffix == ".crc" and path.name.startswith(".") else None

    def _spy_path_open(self) -> Callable[..., Any]:
        def spy(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            file = self._path_open(path, mode, *arguments, **options)
            if mode != "xb":
                return file
            self._kind = kind_of(path)
            self._paths[file.fileno()] = path
            try:
                self.reach("opened")
            except OSError:
                file.close()
                raise
            return _SlowFile(file, self)

        return spy

    def _spy_os_open(self, path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        descriptor = self._os_open(path, flags, *arguments, **options)
        self._paths[descriptor] = Path(os.fsdecode(path))
        return descriptor

    def _spy_fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        path = self._paths.get(descriptor)
        self.reach("folder synced" if path is None or path.is_dir() else "synced")

    def _spy_delete(self) -> Callable[..., None]:
        delete = LocalStore.delete

        def spy(store: LocalStore, path: str) -> None:
            kind = "temporary file" if path.endswith(".tmp") else kind_of(Path(path))
            self.reach(f"{kind} about to go", kind="cleanup")
            with self._silence():
                delete(store, path)
            self.reach(f"{kind} gone", kind="cleanup")

        return spy


class _SlowFile:
    """A file whose bytes arrive in two halves."""

    def __init__(self, file: Any, stepper: Stepper) -> None:
        self._file = file
        self._stepper = stepper

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._stepper.reach("half written")
        self._file.write(data[half:])

    def flush(self) -> None:
        self._file.flush()
        self._stepper.reach("written")

    def fileno(self) -> int:
        return int(self._file.fileno())


def kind_of(path: Path) -> str:
    """What a file of a table is, or a temporary file is going to be."""
    found = _TEMPORARY.fullmatch(path.name)
    name = path.name if found is None else found["name"]
    if name == "_last_checkpoint":
        return "last checkpoint"
    if path.parent.name == SIDECAR_FOLDER.rpartition("/")[2]:
        return "sidecar"
    parsed = parse_log_file_name(name)
    if parsed is None:
        return "data file"
    return {LogFileKind.COMMIT: "commit", LogFileKind.CHECKSUM: "checksum"}.get(parsed.kind, "checkpoint")
