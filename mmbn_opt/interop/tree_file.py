"""The file of a search tree: frames with checksums that are only ever appended, and a tail that may be torn.

docs/tree-file.md is its description.
"""

import os
import struct
import weakref
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from threading import Lock
from typing import Any

from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.atomic import write_bytes_atomic
from mmbn_opt.programs.tree_records import FORMAT, FORMAT_VERSION, Kind, json_of, text_of

__all__ = ["TreeFile", "TreeReader", "framed", "head"]

MAGIC = b"\x89MMBNT\r\n"
_HEAD = struct.Struct("<8sII")
_FRAME = struct.Struct("<IIB")

_STEP = 2**22
"""Bytes that are read at a time."""


def head(magic: bytes, version: int) -> bytes:
    """What a file of frames begins with."""
    return _HEAD.pack(magic, version, 0)


def framed(kind: IntEnum, payload: bytes) -> bytes:
    """A record with its length and checksum."""
    check = zlib.crc32(payload, zlib.crc32(bytes([kind])))
    return _FRAME.pack(len(payload), check, kind) + payload


class TreeReader:
    """A tree file that is read, and may grow meanwhile.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    header : dict
    whole : int
        Where the whole records that were read end.

    Raises
    ------
    FormatError
        If it is no tree file, or one of a later version.
    OSError
        If it cannot be opened.
    """

    _mode = "rb"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = open(self.path, self._mode, buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close).atexit = False  # one that only reads need not be closed by hand
        self._lock = Lock()
        self.whole = _HEAD.size
        try:
            self.header = self._checked_header()
        except BaseException:
            self.close()
            raise

    def _bytes(self, count: int, place: int) -> bytes:
        """So many bytes from a place on, fewer at the end."""
        parts = []
        with self._lock:
            self._file.seek(place)
            while count > 0 and (part := self._file.read(count)):
                parts.append(part)
                count -= len(part)
        return b"".join(parts)

    def _checked_header(self) -> dict[str, Any]:
        head = self._bytes(_HEAD.size, 0)
        cure = "Give another folder, or remove the file if it is of no use."
        if len(head) < _HEAD.size or not head.startswith(MAGIC):
            raise FormatError(f"{str(self.path)!r} is not a tree file of mmbn_opt, or was cut off at its head. {cure}")
        _, version, _ = _HEAD.unpack(head)
        if version != FORMAT_VERSION:
            raise FormatError(
                f"{str(self.path)!r} has version {version}; this mmbn_opt reads version {FORMAT_VERSION}. Update it."
            )
        first = next(self.records(), None)
        if first is None or first[1] is not Kind.HEADER:
            raise FormatError(f"{str(self.path)!r} was cut off, or damaged, in its header. {cure}")
        content = json_of(first[2])
        if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != version:
            raise FormatError(f"{str(self.path)!r} has a header that is none of mmbn_opt. {cure}")
        return content

    def records(self, start: int = _HEAD.size) -> Iterator[tuple[int, Kind, bytes]]:
        """Place, kind and payload of each whole record from a place on; ends before a torn tail."""
        buffer, place = b"", start  # the buffer begins at `place`
        at = 0
        while True:
            wanted = _FRAME.size
            if len(buffer) - at >= wanted:
                wanted += _FRAME.unpack_from(buffer, at)[0]
            if len(buffer) - at < wanted:
                buffer, place, at = buffer[at:], place + at, 0
                more = self._bytes(max(_STEP, wanted - len(buffer)), place + len(buffer))
                if not more:
                    return
                buffer += more
                continue
            _, check, kind = _FRAME.unpack_from(buffer, at)
            payload = buffer[at + _FRAME.size : at + wanted]
            if zlib.crc32(payload, zlib.crc32(bytes([kind]))) != check:
                return
            try:
                known = Kind(kind)
            except ValueError as error:
                raise FormatError(
                    f"{str(self.path)!r} holds a record of kind {kind}, which this mmbn_opt does not know. Update it."
                ) from error
            self.whole = place + at + wanted
            yield place + at, known, payload
            at += wanted

    def read(self, place: int) -> tuple[Kind, bytes]:
        """The record at a place."""
        head = self._bytes(_FRAME.size, place)
        length, check, kind = _FRAME.unpack(head) if len(head) == _FRAME.size else (0, 0, 0)
        payload = self._bytes(length, place + _FRAME.size)
        if zlib.crc32(payload, zlib.crc32(bytes([kind]))) != check:
            raise FormatError(f"{str(self.path)!r} was changed while it was in use: no record is at byte {place} now.")
        return Kind(kind), payload

    def close(self) -> None:
        """Let it go."""
        self._file.close()


class TreeFile(TreeReader):
    """A tree file that is written to at its end, after all its records were read once.

    A record that was handed over survives the end of the process; one that was `sync`-ed survives the machine's.
    """

    _mode = "r+b"
    _failed = False

    @classmethod
    def create(cls, path: str | Path, header: dict[str, Any]) -> "TreeFile":
        """A new file with its header, which is there whole or not at all."""
        write_bytes_atomic(path, head(MAGIC, FORMAT_VERSION) + framed(Kind.HEADER, text_of(header)))
        return cls(path)

    def cut(self) -> int:
        """Cut off what is behind the records that were read; how many bytes that were."""
        with self._lock:
            torn = self._file.seek(0, 2) - self.whole
            if torn:
                self._file.truncate(self.whole)
        return torn

    def write(self, kind: Kind, payload: bytes) -> int:
        """Append a record; its place.

        Raises
        ------
        OSError
            If there is no room; what was written before is whole, and nothing more is taken.
        """
        frame = memoryview(framed(kind, payload))
        with self._lock:
            if self._failed:
                raise OSError("nothing can be written to it any more")
            place = self.whole
            try:
                self._file.seek(place)
                while frame:
                    frame = frame[self._file.write(frame) or 0 :]
            except BaseException:
                self._failed = True
                with suppress(OSError):
                    self._file.truncate(place)
                raise
            self.whole = place + _FRAME.size + len(payload)
        return place

    def sync(self) -> None:
        """Have everything on the disk."""
        os.fsync(self._file.fileno())
