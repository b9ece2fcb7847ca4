"""Standard output and error, whose encodings are not ours to choose."""

import codecs
import io
import sys

__all__ = ["escape_what_cannot_be_shown"]

_ASCII = "mmbn_ascii"


def escape_what_cannot_be_shown() -> None:
    r"""Have standard output and error write ``\u5e74`` for what their encodings lack.

    Names and labels are any text; a terminal's or a pipe's code page is not, and is no reason to end a run.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue  # a notebook's or a test's, which takes any text
        if codecs.lookup(stream.encoding).name == "ascii":
            # Click takes ASCII for a mistake of the system and writes UTF-8; under another name it leaves it alone.
            codecs.register(_ascii_by_another_name)
            stream.reconfigure(encoding=_ASCII, errors="backslashreplace")
        else:
            stream.reconfigure(errors="backslashreplace")


def _ascii_by_another_name(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    plain = codecs.lookup("ascii")
    return codecs.CodecInfo(
        plain.encode, plain.decode, plain.streamreader, plain.streamwriter, plain.incrementalencoder,
        plain.incrementaldecoder, name=_ASCII,
    )  # fmt: skip
