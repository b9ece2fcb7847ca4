"""Messages over a pipe: pickled with protocol 5, arrays out of band, every part preceded by its length."""

import pickle
import struct
from typing import Any, BinaryIO

__all__ = ["read_message", "write_message"]

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


def write_message(stream: BinaryIO, message: object) -> None:
    """Write one message; large arrays go from their own memory to the pipe without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts: list[Any] = [head, *(buffer.raw() for buffer in buffers)]
    lengths = b"".join(_LENGTH.pack(len(part)) for part in parts)
    stream.write(_COUNT.pack(len(parts)) + lengths)
    stream.writelines(parts)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Read one message.

    Raises
    ------
    EOFError
        When the other side is gone.
    """
    (count,) = _COUNT.unpack(_read(stream, _COUNT.size))
    lengths = [_LENGTH.unpack(_read(stream, _LENGTH.size))[0] for _ in range(count)]
    head, *buffers = [_read(stream, length) for length in lengths]
    return pickle.loads(head, buffers=buffers)


def _read(stream: BinaryIO, length: int) -> bytearray:
    """Read exactly `length` bytes into memory that may be written to (arrays live in it afterwards)."""
    data = bytearray(length)
    view, filled = memoryview(data), 0
    while filled < length:
        got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not got:
            raise EOFError("the other end of the pipe is closed")
        filled += got
    return data
