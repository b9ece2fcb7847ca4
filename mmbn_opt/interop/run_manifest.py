"""What a run folder says of itself: which run its files are of, and the checksum of each.

``manifest.json`` is the last file of a run to arrive. A file that it does not match is of another run, or was changed.
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.json_text import parse_json

__all__ = ["MANIFEST", "ForeignManifest", "Manifest", "mismatch", "read_manifest"]

MANIFEST = "manifest.json"

_FORMAT = "mmbn_opt/run"
_VERSION = 1
_SHA256 = re.compile("[0-9a-f]{64}")


class ForeignManifest(FormatError):
    """A ``manifest.json`` that no run of this package wrote."""


@dataclass(frozen=True)
class Manifest:
    """The content of a ``manifest.json``.

    Parameters
    ----------
    run : str
        Distinguishes this run from all others.
    command : str
    mmbn_opt_version : str
    state : {"finished", "unfinished"}
        "unfinished": the files are the best so far of a run that goes on or was killed.
    written : str
        Local time.
    files : mapping from name to (bytes, SHA-256)
    """

    run: str
    command: str
    mmbn_opt_version: str
    state: Literal["finished", "unfinished"]
    written: str
    files: Mapping[str, tuple[int, str]]

    @classmethod
    def of(
        cls,
        contents: Mapping[str, bytes],
        *,
        run: str,
        command: str,
        version: str,
        state: Literal["finished", "unfinished"] = "finished",
    ) -> "Manifest":
        """The manifest of files that are to be written now."""
        files = {name: (len(content), _digest(content)) for name, content in sorted(contents.items())}
        return cls(run, command, version, state, time.strftime("%Y-%m-%d %H:%M:%S"), files)

    def to_json(self) -> str:
        """The file's content."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "state": self.state,
            "run": self.run,
            "command": self.command,
            "mmbn_opt_version": self.mmbn_opt_version,
            "written": self.written,
            "files": {name: {"bytes": size, "sha256": digest} for name, (size, digest) in self.files.items()},
        }
        return json.dumps(content, indent=2) + "\n"

    def fits(self, name: str, content: bytes) -> bool:
        """Whether a file is the one that was written by this run."""
        return self.files.get(name) == (len(content), _digest(content))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none, as in folders of earlier versions.

    Raises
    ------
    ForeignManifest
        If there is a ``manifest.json`` of another kind.
    FormatError
        If there is a broken one.
    """
    path = folder / MANIFEST
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError(f"{str(path)!r} cannot be read: {error.strerror or error}. {_CURE}") from error
    try:
        content = parse_json(raw.decode("utf-8"))
    except ValueError as error:
        if _FORMAT.encode() in raw:
            raise FormatError(f"{str(path)!r} is not a usable manifest ({error}). {_CURE}") from error
        content = None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ForeignManifest(f"{str(path)!r} is not the manifest of a run of mmbn_opt. {_CURE}")
    if type(content.get("version")) is not int or content["version"] != _VERSION:
        raise FormatError(
            f"{str(path)!r} has version {content.get('version')!r}; this mmbn_opt reads version {_VERSION}. Update it."
        )
    return _checked(path, content)


_CURE = "Choose another folder, or remove the file if its run is of no use."


def _checked(path: Path, content: dict[str, Any]) -> Manifest:
    try:
        if content.get("state") not in ("finished", "unfinished"):
            raise ValueError('state must be "finished" or "unfinished"')
        texts = {}
        for key in ("run", "command", "mmbn_opt_version", "written"):
            if not isinstance(content.get(key), str):
                raise ValueError(f"{key} must be a text")
            texts[key] = str(content[key])
        if not isinstance(content.get("files"), dict):
            raise ValueError("files must be an object")
        files = {name: _file(name, entry) for name, entry in content["files"].items()}
        return Manifest(state=content["state"], files=files, **texts)
    except ValueError as error:
        raise FormatError(f"{str(path)!r} is not a usable manifest ({error}). {_CURE}") from error


def _file(name: str, entry: Any) -> tuple[int, str]:
    """Size and checksum of a file."""
    # A name is looked for in the folder and may be removed there: it must not lead out of it.
    if name != Path(name).name or name in ("", ".", "..") or "\0" in name or len(name.encode()) > 255:
        raise ValueError(f"{name[:60]!r} in files is not the name of a file in the folder")
    if not isinstance(entry, dict) or type(entry.get("bytes")) is not int or entry["bytes"] < 0:
        raise ValueError(f"files[{name!r}].bytes must be a whole number >= 0")
    if not isinstance(entry.get("sha256"), str) or not _SHA256.fullmatch(entry["sha256"]):
        raise ValueError(f"files[{name!r}].sha256 must be a checksum of 64 hexadecimal digits")
    return entry["bytes"], entry["sha256"]


def mismatch(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The files of a manifest that are not there as they were written, each with what is wrong."""
    wrong = {}
    for name in manifest.files:
        try:
            if not manifest.fits(name, (folder / name).read_bytes()):
                wrong[name] = "is not the file of this run"
        except FileNotFoundError:
            wrong[name] = "is missing"
        except OSError as error:
            wrong[name] = f"cannot be read: {error.strerror or error}"
    return wrong


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
