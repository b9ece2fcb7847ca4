"""Data sets from OpenML, fetched and cached by scikit-learn."""

import logging
import os
import re
import warnings
from http.client import HTTPException
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd

from mmbn_opt._arguments import check_arguments, listed
from mmbn_opt.data.datasets.info import ColumnKind, DatasetInfo
from mmbn_opt.data.datasets.shipped import dataset_names
from mmbn_opt.exceptions import InputError, MmbnError

__all__ = ["load_openml"]

logger = logging.getLogger(__name__)

_RETRY_DELAY = 1.0  # seconds


def load_openml(
    name: str,
    version: int | str = 1,
    *,
    target: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> tuple[pd.DataFrame, DatasetInfo]:
    """Fetch a data set from openml.org; needs the network the first time, the cache afterwards.

    Parameters
    ----------
    name : str
        As OpenML spells it, for example "credit-g".
    version : int, default=1
        OpenML keeps several data sets under one name, told apart by version.
    target : str, optional
        The class column; by default the one that OpenML names.
    data_home : path, optional
        Folder of the cache; scikit-learn's own by default (``~/scikit_learn_data``).
    cache : bool, default=True
        Whether to keep the download.

    Returns
    -------
    frame : pandas.DataFrame
        Features first, then the class under its own name. Numeric columns are float64; nominal and string ones hold
        text. A missing cell is NaN. Row identifiers and columns that OpenML marks to be ignored are left out.
    info : DatasetInfo

    Raises
    ------
    InputError
        No such data set or version, no single target, missing labels, sparse data, a damaged download.
    MmbnError
        OpenML could not be reached or gave no answer, or the cache can't be written.

    Examples
    --------
    >>> frame, info = load_openml("credit-g")  # doctest: +SKIP
    """
    check_arguments(load_openml, locals())
    # Deferred: only this function needs it, and it takes long to load.
    from sklearn.datasets import fetch_openml

    if not re.fullmatch(r"[\w.()+-]+", str(name)):
        raise InputError(f"{name!r} is not a name of an OpenML data set: letters, digits and . ( ) + - _ only.")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            bunch = fetch_openml(
                name,
                version=version,
                target_column="default-target" if target is None else target,
                data_home=data_home,
                cache=cache,
                as_frame=True,
                n_retries=1,
                delay=_RETRY_DELAY,
                # The faster parser turns labels such as "007" into numbers.
                parser="liac-arff",
            )
        except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
            raise MmbnError(
                f"Data set {name!r} could not be fetched from OpenML: {error}. Check the network connection and try "
                f"again, or use one that comes with mmbn_opt: {', '.join(dataset_names())}."
            ) from error
        except OSError as error:
            raise MmbnError(
                f"The download of data set {name!r} could not be cached: {error}. Give a folder that can be written as "
                "data_home, or cache=False."
            ) from error
        except (ValueError, KeyError) as error:
            reason = str(error.args[0] if error.args else error).strip().rstrip(".")
            raise InputError(
                f"OpenML data set {name!r}, version {version}, can't be used: {reason}. Look up names, versions and "
                "columns at https://www.openml.org/search?type=data."
            ) from error
    for warning in told:
        logger.warning("OpenML data set %s: %s", name, warning.message)
    return _described(bunch, name, version)


def _described(bunch: Any, name: str, version: int | str) -> tuple[pd.DataFrame, DatasetInfo]:
    if len(bunch.target_names) != 1:
        named = ", ".join(map(repr, bunch.target_names)) or "none"
        raise InputError(
            f"OpenML data set {name!r}, version {version}, must have one class column; it names {named}. "
            f"Choose one by target=; the columns are {listed(bunch.frame.columns)}."
        )
    (target,) = bunch.target_names
    features = [column for column in bunch.frame.columns if column != target]
    columns = {column: _plain(bunch.frame[column]) for column in (*features, target)}
    frame = pd.DataFrame(columns)
    kinds: dict[str, ColumnKind] = {
        column: "numeric" if frame[column].dtype == np.float64 else "categorical" for column in features
    }
    details = bunch.details
    return frame, DatasetInfo(
        name=name,
        rows=len(frame),
        features=len(features),
        classes=int(frame[target].nunique()),
        target=target,
        kinds=kinds,
        train_rows=None,
        source=f"OpenML data set {details['id']}, version {details['version']} ({bunch.url})",
        licence=str(details.get("licence", "not stated")),
        notes=f"MD5 of the download as published by OpenML: {details['md5_checksum']}.",
        sha256=None,
    )


def _plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column as float64 if it is numeric, as text otherwise."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
    codes, labels = pd.factorize(column)
    states = pd.Index([str(label) for label in labels])
    return pd.Series(pd.Categorical.from_codes(codes, categories=states)).astype(states.dtype)
