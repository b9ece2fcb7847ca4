"""Programs as files: LP and MPS through HiGHS's writers, .nl through Pyomo's, local scores as .jkl."""

import tempfile
from pathlib import Path
from typing import Any

from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import DecomposableStructure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

from .atomic import write_bytes_atomic
from .jkl import write_jkl
from .nl import write_nl

__all__ = ["refuse_no_local_scores", "write_local_scores", "write_program"]


def write_program(formulation: Any, path: str | Path, *, file_format: str) -> MixedIntegerProgram:
    """Write a formulation's mixed-integer program as ``lp``, ``mps`` or ``nl`` (a minimum); returns the program."""
    from mmbn_opt.solvers import write_program as write_model

    if file_format not in ("lp", "mps", "nl"):
        raise InputError(f"file_format must be 'lp', 'mps' or 'nl', got {file_format!r}.")
    program: MixedIntegerProgram = formulation.build(ProgramKind.MIXED_INTEGER)
    if file_format == "nl":
        write_nl(program, path)
        return program
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"program.{file_format}"
        write_model(program, draft)
        write_bytes_atomic(Path(path), draft.read_bytes())
    return program


def refuse_no_local_scores(formulation: Any) -> None:
    """Say so where a score is no sum over the nodes.

    Raises
    ------
    InputError
    """
    if not isinstance(formulation, DecomposableStructure):
        raise InputError(
            "A .jkl file holds local scores; margins are not sums of them. "
            "Use --score mdl, bic, bdeu or loglik, or --format mps."
        )


def write_local_scores(formulation: Any, path: str | Path) -> None:
    """Write the local scores of a decomposable formulation in the .jkl form of exact structure learners."""
    refuse_no_local_scores(formulation)
    names = (*formulation.data.feature_names, formulation.data.class_name)
    scores: dict[str, list[tuple[float, tuple[str, ...]]]] = {name: [] for name in names}
    for (node, parents), value in zip(formulation.candidates.columns, formulation.local_scores, strict=True):
        scores[names[node]].append((float(value), tuple(names[p] for p in parents)))
    write_jkl(Path(path), names, scores)
