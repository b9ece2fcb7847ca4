"""Whether what will be learned from a table can be written and read again: asked before the search, not after it."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop._assembly import text_states
from mmbn_opt.interop._labels import label_from_json, label_to_json, refuse_half_characters
from mmbn_opt.interop.mixture_json import classes_from_dict, classes_to_dict

__all__ = ["refuse_unwritable", "refuse_unwritable_classes"]


def refuse_unwritable(variables: Iterable[DiscreteVariable]) -> None:
    """Refuse columns whose states neither ``model.json`` nor ``network.bif`` could hold.

    Raises
    ------
    InputError
        With the column, the state and the cure.

    Examples
    --------
    >>> refuse_unwritable([DiscreteVariable("a", (b"x", b"y"))])
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: Column 'a' has the state b'x' of type bytes, which a model file cannot hold; ...
    """
    for variable in variables:
        refuse_half_characters(variable.name, "There is a column")
        for state in variable.states:
            written = label_to_json(state, variable.name)
            try:
                lost = label_from_json(written, variable.name) != state
            except FormatError:
                lost = True
            if lost:
                raise InputError(
                    f"Column {variable.name!r} has the state {shown(state)} of type {type(state).__name__}, which "
                    "would not come back from a model file as it is; turn the column into text, or leave it out."
                )
        text_states(variable, "network.bif")


def refuse_unwritable_classes(classes: NDArray[Any], name: str) -> None:
    """Refuse class labels that the ``model.json`` of a mixture classifier could not hold.

    Raises
    ------
    InputError
        With the class column.
    """
    try:
        classes_from_dict(classes_to_dict(classes, name))
    except FormatError as error:
        raise InputError(
            f"The class column {name!r} has labels of a type that no model file can hold ({error}); turn them "
            "into text."
        ) from error
