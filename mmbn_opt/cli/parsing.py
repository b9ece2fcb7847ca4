"""How the texts of options become values; a text that can't be read is told by the option's name."""

from typing import Any

import typer

__all__ = ["names_between_commas", "number", "typed_options", "whole_number", "whole_numbers"]


def number(text: Any) -> float:
    """A number; whether it is in range is for the library to say, in words of its own.

    Examples
    --------
    >>> number("1e-3")
    0.001
    """
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None


def whole_number(text: Any) -> int:
    """A whole number.

    Examples
    --------
    >>> whole_number("7")
    7
    """
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def names_between_commas(text: Any) -> tuple[str, ...]:
    """Names separated by commas.

    Examples
    --------
    >>> names_between_commas("iris, car"), names_between_commas("")
    (('iris', 'car'), ())
    """
    return text if isinstance(text, tuple) else tuple(part.strip() for part in str(text).split(",") if part.strip())


def whole_numbers(text: Any) -> tuple[int, ...]:
    """Whole numbers separated by commas.

    Examples
    --------
    >>> whole_numbers("0, 1")
    (0, 1)
    """
    try:
        return text if isinstance(text, tuple) else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of whole numbers separated by commas.") from None


def typed_options(context: typer.Context) -> dict[str, str]:
    """What was given on the command line, in the order of the help: arguments and their options."""
    sources = {p.name: context.get_parameter_source(p.name) for p in context.command.params if p.name}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return {p.name: max(p.opts, key=len) for p in context.command.params if p.name in given}
