"""What the JSON model files share: a loader that believes nothing, and refusals that name the part."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mmbn_opt._arguments import shown
from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.json_text import parse_json
from mmbn_opt.interop.limits import max_values
from mmbn_opt.interop.run_folder import text_of_run

__all__ = ["document_text", "list_of", "load_document", "na_values_of", "require_format", "value_text"]

Model = TypeVar("Model")


def document_text(content: Mapping[str, Any], written: Mapping[str, str] | None = None) -> str:
    """The text of a model file: one line, all digits, and nothing that JSON has no word for.

    The values of `written` are JSON already and come last.
    """
    members = {key: value_text(value) for key, value in content.items()} | dict(written or {})
    return "{" + ", ".join(f"{value_text(key)}: {text}" for key, text in members.items()) + "}\n"


def value_text(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, allow_nan=False)


def load_document(path: str | Path, from_dict: Callable[[Any], Model]) -> Model:
    """Read a JSON file and make a model of it; what is wrong with either is a `FormatError` that names the file."""
    text = text_of_run(path, lambda: read_text(path, "model file"))
    # Each value but the first follows one of these, and the smallest takes two bytes of text but sixty of memory.
    n_values = text.count(",") + text.count("[") + text.count("{") + text.count(":")
    if n_values > max_values():
        raise SizeLimitError(
            f"{str(path)!r} may hold {n_values:,} values; the limit is {max_values():,}. It was not read."
        )
    refuse_beyond_memory(repr(str(path)), "a model", 2 * n_values, 0, "Read it on a machine with more memory.")
    try:
        content = parse_json(text)
    except ValueError as error:
        raise FormatError(f"{str(path)!r} is not a model file: {error}.") from error
    try:
        return from_dict(content)
    except SizeLimitError:
        raise
    except RecursionError as error:
        raise FormatError(f"{str(path)!r} is not a usable model file: it nests too deeply.") from error
    except InputError as error:
        raise FormatError(f"{str(path)!r} is not a usable model file. {error}") from error


def require_format(content: Any, name: str, version: int, kind: str) -> None:
    """Refuse what is no JSON object of this format and version; `kind` is what such a file is called."""
    if not isinstance(content, dict) or content.get("format") != name:
        raise FormatError(f'A {kind} file is a JSON object with "format": "{name}"; this one is not.')
    if type(content.get("version")) is not int or content["version"] != version:
        raise FormatError(
            f"The model file has version {shown(content.get('version'))}; this mmbn_opt reads version {version}. "
            "Update mmbn_opt, or save the model again."
        )


def list_of(content: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; refused by name when there is none."""
    value = content.get(key)
    if not isinstance(value, list):
        raise FormatError(f'"{key}" must be a list, got {shown(value)}.')
    return value


def na_values_of(content: dict[str, Any]) -> tuple[str, ...] | None:
    """The cells that the file says were read as missing; None where it says nothing."""
    if content.get("na_values") is None:
        return None
    values = list_of(content, "na_values")
    if not all(isinstance(value, str) for value in values):
        raise FormatError(f'"na_values" must be a list of texts, got {shown(values)}.')
    return tuple(values)
