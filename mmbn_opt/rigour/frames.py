"""Frames of the files of proofs: length, checksum, kind and payload, one behind the other."""

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

__all__ = ["HEAD", "beginning", "frames"]

HEAD = 16
"""Bytes before the first frame: the magic, the version of the format, and a zero."""


def beginning(path: Path) -> bytes:
    """The bytes before the first frame."""
    with path.open("rb") as file:
        return file.read(HEAD)


def frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """Kind and payload of each frame; from the first on that is not whole, nothing counts."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    at = HEAD
    while at + 9 <= len(data):
        size, checksum = np.frombuffer(data, "<u4", 2, at).tolist()
        frame = data[at + 8 : at + 9 + size]
        if len(frame) <= size or zlib.crc32(frame) != checksum:
            return
        at += 9 + size
        yield frame[0], frame[1:]
