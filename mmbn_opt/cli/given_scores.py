"""``mmbn-opt structure --scores``: the best structure for local scores in a file, without a table."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from mmbn_opt.cli.clock import Clock
from mmbn_opt.cli.output import exit_status, say_result
from mmbn_opt.cli.parsing import typed_options
from mmbn_opt.exceptions import InputError

__all__ = ["require_data", "solve_scores"]

_FITTING = {
    "scores", "out", "max_parents", "solver", "time_limit", "rel_gap", "threads", "seed", "acyclicity", "require",
    "checkpoint",
    "cluster",
    "forbid", "verbose", "quiet", "max_edges", "max_features", "max_parameters", "feature_costs", "budget", "tiers",
    "above", "not_above", "all_or_none", "at_most_one",
}  # fmt: skip
"""Options that say something where there are scores and no rows."""


def _refuse_what_needs_rows(typed: Mapping[str, str]) -> None:
    """Say which options have no use where a file of scores is given.

    Raises
    ------
    InputError
    """
    useless = [option for name, option in typed.items() if name not in _FITTING]
    if useless:
        raise InputError(
            f"--scores takes the place of a table, and {', '.join(useless)} would say something about its rows or its "
            "score: leave out the one or the other."
        )


def require_data(data: Path | None, target: str | None) -> tuple[Path, str]:
    """Both, or what to give.

    Raises
    ------
    InputError
    """
    if data is None or target is None:
        missing = " and ".join(["--data FILE"] * (data is None) + ["--target COLUMN"] * (target is None))
        raise InputError(f"There is nothing to learn from: give {missing}, or local scores by --scores FILE.jkl.")
    return data, target


def solve_scores(
    context: typer.Context,
    scores: Path,
    out: Path,
    settings: Mapping[str, Any],
    solver: str,
    clock: Clock,
    call: Mapping[str, Any],
    checkpoint: Path | None = None,
    cluster: str | None = None,
) -> None:
    """Read, solve, say and write.

    Parameters
    ----------
    context : typer.Context
        Of the command: what was typed.
    scores, out : Path
    settings : mapping
        Of `LocalScoreStructure`; ``max_parents`` only counts where it was typed.
    solver : str
    clock : Clock
    call : mapping
        Further settings of `solve`.
    checkpoint : Path or None
    cluster : str or None
        As in `solve`.
    """
    from mmbn_opt._budget import interruptible
    from mmbn_opt.cli.problems import try_call
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.formulations import LocalScoreStructure
    from mmbn_opt.interop.jkl import read_jkl
    from mmbn_opt.solving.dispatch import solve

    typed = typed_options(context)
    _refuse_what_needs_rows(typed)
    if "max_parents" not in typed:
        settings = {**settings, "max_parents": None}
    with interruptible():
        free = {k: value for k, value in settings.items() if not k.endswith("_edges") and k != "constraints"}
        try_call(
            LocalScoreStructure({"a": [(0.0, ())], "b": [(0.0, ())]}, **free), solver, time_limit=clock.limit, **call
        )
    with open_folder(out) as folder:
        with interruptible():
            formulation = LocalScoreStructure(read_jkl(scores), **settings)
        search = clock.for_search()
        with Progress(clock.limit) as progress, Keeper(folder, seconds=search):
            result = solve(
                formulation, solver, time_limit=search, callback=progress, checkpoint=checkpoint,
                cluster=cluster, **call,
            )  # fmt: skip
        result = replace(found(result), settings={**result.settings, "time_limit": clock.limit})
        hand_over(result, folder, lambda: say_result(result), title=f"{formulation.title} of {scores.name}")
    raise typer.Exit(exit_status(result))
