"""Text of an XML file, whatever its encoding: the byte order mark decides, then the declaration, then UTF-8."""

import codecs
import re

from mmbn_opt.exceptions import FormatError

__all__ = ["decode_xml"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLANKS = " \t\r\n"
_DECLARATION = re.compile(r"<\?xml\s[^>]{0,500}?\?>")
_ENCODING = re.compile(r"""\sencoding\s*=\s*["']([A-Za-z0-9._:\-]{1,40})["']""")
_WIDE = re.compile(r"(utf|ucs)-?_?(16|32|2|4)", re.IGNORECASE)
# Python knows encodings that are none of characters ("idna", "unicode_escape"); no file is declared to be in them.
_KNOWN = re.compile(
    r"utf-?8|(us-)?ascii|iso-?_?8859-?_?\d{1,2}|latin-?\d{1,2}|l\d|windows-?\d{3,4}|cp-?\d{3,4}|ibm\d{3}|koi8-[rut]|"
    r"mac-?\w+|gb2312|gbk|gb18030|big5(-?hkscs)?|hz|shift_?jis|euc-?_?\w{2}|iso-?2022-\w{2}(-\d)?|tis-?620",
    re.IGNORECASE,
)


def decode_xml(content: bytes, source: str) -> str:
    """The characters of an XML file, without byte order mark and declaration; lines keep their numbers.

    Parameters
    ----------
    content : bytes
    source : str
        The file, for messages.

    Raises
    ------
    FormatError
        If the encoding is unknown, or the bytes are not of it.

    Examples
    --------
    >>> decode_xml('<?xml version="1.0" encoding="ISO-8859-1"?><a>Größe</a>'.encode("latin-1"), "f.xml")
    '<a>Größe</a>'
    """
    encoding, start = next(((name, len(mark)) for mark, name in _MARKS if content.startswith(mark)), ("", 0))
    if not encoding:
        encoding = _without_mark(content)
    if not encoding:
        head = _DECLARATION.match(content[:2000].decode("latin-1").lstrip(_BLANKS))
        named = _ENCODING.search(head.group()) if head else None
        encoding = named[1] if named else "utf-8"
        if _WIDE.match(encoding):
            encoding = "utf-8"  # the declaration outlived a conversion: there are no wide characters
        elif not _KNOWN.fullmatch(encoding):
            raise FormatError(f"{source} is declared to be in the encoding {encoding!r}, which is not known. {_CURE}")
    try:
        text = content[start:].decode(encoding)
    except LookupError:
        raise FormatError(
            f"{source} is declared to be in the encoding {encoding!r}, which is not known. {_CURE}"
        ) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, start + error.start) + 1
        raise FormatError(
            f"{source}: the bytes at line {line} are not {encoding.upper()}, the encoding that the file "
            f"{'is declared to have' if encoding != 'utf-8' else 'has unless it declares another'}. {_CURE}"
        ) from None
    body = text.lstrip(_BLANKS)
    declaration = _DECLARATION.match(body)
    skipped = text[: len(text) - len(body)] + (declaration.group() if declaration else "")
    return "\n" * skipped.count("\n") + (body[declaration.end() :] if declaration else body)


_CURE = "Save it as UTF-8."


def _without_mark(content: bytes) -> str:
    """Wide characters are told by the zeros beside the first sign."""
    head = content[:8]
    if len(head) < 4 or not head.count(0):
        return ""
    if head[0] and not head[1]:
        return "utf-32-le" if not (head[2] or head[3]) else "utf-16-le"
    if not head[0]:
        return "utf-32-be" if not (head[1] or head[2]) else "utf-16-be"
    return ""
