"""Arrow's types as those of a table: decimals and half floats are numbers, days moments, times of day durations."""

from typing import Any
from uuid import UUID

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import FormatError

__all__ = ["refuse_nested", "with_plain_types"]

_OF_PANDAS = "pandas."
"""Extension types with this prefix (periods, intervals) come back as what they were."""


def refuse_nested(schema: Any, source: str) -> None:
    """Refuse columns whose cells hold several values; nothing is read yet.

    Parameters
    ----------
    schema : pyarrow.Schema or list of its fields
    source : str
        The file, for messages.

    Raises
    ------
    FormatError
        With the names.
    """
    import pyarrow

    nested = [
        f"{shown(field.name)} ({str(field.type)[:60]})"
        for field in schema
        if pyarrow.types.is_nested(_value_type(field.type)) and not _is_of_pandas(field.type)
    ]
    if nested:
        raise FormatError(
            f"{source}: each cell of column {listed(nested, 5, show=str)} holds several values. "
            "Spread them over columns of their own, or leave the column out."
        )


def with_plain_types(table: Any, source: str) -> Any:
    """The table with each column in a type that can be learned from.

    - Decimals become whole numbers where they have no places and 64 bits hold them, else doubles; half floats doubles.
    - Times of day become durations since midnight.
    - Bytes become text where they are UTF-8, as tools write it that do not mark their texts; UUIDs become text.
    - An unknown time zone becomes UTC: the moments are the same.
    - Categories stay where they are text, numbers or bools.

    Parameters
    ----------
    table : pyarrow.Table
    source : str
        The file, for messages.

    Raises
    ------
    FormatError
        For a column of bytes that are no text, or of a type that stands for none of this; the message names it.
    """
    for index, field in enumerate(table.schema):
        column = _plain(table.column(index), field.name, source)
        if column is not table.column(index):
            table = table.set_column(index, field.name, column)
    return table


def _plain(column: Any, name: str, source: str) -> Any:
    import pyarrow
    import pyarrow.compute

    types, kind = pyarrow.types, column.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return column if _is_of_pandas(kind) else _of_storage(column, name, source)
    if types.is_dictionary(kind):
        if _is_plain(kind.value_type):
            return column
        return _plain(column.cast(kind.value_type), name, source)
    if types.is_decimal(kind):
        if kind.scale <= 0:
            try:
                return column.cast(pyarrow.int64())
            except pyarrow.ArrowInvalid:
                pass
        return column.cast(pyarrow.float64())
    if types.is_float16(kind):
        return column.cast(pyarrow.float64())
    if types.is_time(kind):
        width = pyarrow.int32() if types.is_time32(kind) else pyarrow.int64()
        return column.cast(width).cast(pyarrow.int64()).cast(pyarrow.duration(kind.unit))
    if types.is_timestamp(kind):
        return column if kind.tz is None or _is_known(kind.tz) else column.cast(pyarrow.timestamp(kind.unit, "UTC"))
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return _as_text(column, name, source)
    if types.is_fixed_size_binary(kind):
        return _as_text(column.cast(pyarrow.binary()), name, source)
    if _is_plain(kind) or types.is_date(kind) or types.is_duration(kind) or types.is_null(kind):
        return column
    raise FormatError(
        f"{source}: column {name!r} is of the type {str(kind)[:60]}, which stands for no number, moment or text. "
        "Turn it into one, or leave the column out."
    )


def _is_plain(kind: Any) -> bool:
    """Whether it is text, a number or a bool already."""
    from pyarrow import types

    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_float32(kind)
        or types.is_float64(kind)
    )


def _of_storage(column: Any, name: str, source: str) -> Any:
    """An extension type as what it is stored as, UUIDs as what they are known by."""
    import pyarrow

    plain = column.cast(column.type.storage_type)
    if column.type.extension_name == "arrow.uuid":
        cells = [None if cell is None else str(UUID(bytes=cell)) for cell in plain.to_pylist()]
        return pyarrow.chunked_array([pyarrow.array(cells, pyarrow.string())])
    if column.type.extension_name == "arrow.bool8":
        return plain.cast(pyarrow.bool_())
    return _plain(plain, name, source)


def _as_text(column: Any, name: str, source: str) -> Any:
    import pyarrow

    try:
        return column.cast(pyarrow.large_string())
    except pyarrow.ArrowInvalid:
        raise FormatError(
            f"{source}: the cells of column {name!r} are bytes that are no text in UTF-8. Decode them to text or "
            "numbers before, or leave the column out."
        ) from None


def _value_type(kind: Any) -> Any:
    """The type that cells have in the end."""
    import pyarrow

    if isinstance(kind, pyarrow.BaseExtensionType):
        return _value_type(kind.storage_type)
    return _value_type(kind.value_type) if pyarrow.types.is_dictionary(kind) else kind


def _is_of_pandas(kind: Any) -> bool:
    import pyarrow

    return isinstance(kind, pyarrow.BaseExtensionType) and kind.extension_name.startswith(_OF_PANDAS)


def _is_known(zone: str) -> bool:
    import pyarrow

    try:
        pyarrow.array([0], pyarrow.timestamp("s", zone)).to_pandas()
    except Exception:  # whatever looks zones up has errors of its own
        return False
    return True
