"""Programs as files: LP and MPS text, .nl through Pyomo's writer, local scores as .jkl."""

from pathlib import Path
from typing import Any

from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import DecomposableStructure, LocalScoreStructure
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.programs.as_text import lp_blocks, mps_blocks
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

from .atomic import write_bytes_atomic
from .jkl import write_jkl
from .name_map import write_name_map
from .nl import write_nl

__all__ = ["refuse_no_local_scores", "write_local_scores", "write_program"]

_TEXTS = {"lp": lp_blocks, "mps": mps_blocks}


def write_program(formulation: Any, path: str | Path, *, file_format: str) -> MixedIntegerProgram:
    """Write a formulation's mixed-integer program as ``lp``, ``mps`` or ``nl`` (a minimum); returns the program.

    What the columns stand for is written beside it, see `write_name_map`.
    """
    if file_format not in ("lp", "mps", "nl"):
        raise InputError(f"file_format must be 'lp', 'mps' or 'nl', got {file_format!r}.")
    program: MixedIntegerProgram = formulation.build(ProgramKind.MIXED_INTEGER)
    if file_format == "nl":
        write_nl(program, path)
    else:
        write_bytes_atomic(path, "".join(_TEXTS[file_format](program)).encode("ascii"))
    sets = []
    if isinstance(formulation, ParentSetFormulation):
        names = formulation.node_names
        sets = [(names[node], tuple(names[p] for p in parents)) for node, parents in formulation.candidates.columns]
    write_name_map(program, path, parent_sets=sets, file_format=file_format)
    return program


def refuse_no_local_scores(formulation: Any) -> None:
    """Say so where a score is no sum over the nodes.

    Raises
    ------
    InputError
    """
    if not isinstance(formulation, DecomposableStructure | LocalScoreStructure):
        raise InputError(
            "A .jkl file holds local scores; margins are not sums of them. "
            "Use --score mdl, bic, bdeu or loglik, or --format mps."
        )


def write_local_scores(formulation: Any, path: str | Path) -> None:
    """Write the local scores of a decomposable formulation in the .jkl form of exact structure learners."""
    refuse_no_local_scores(formulation)
    names = formulation.node_names
    scores: dict[str, list[tuple[float, tuple[str, ...]]]] = {name: [] for name in names}
    for (node, parents), value in zip(formulation.candidates.columns, formulation.column_scores, strict=True):
        scores[names[node]].append((float(value), tuple(names[p] for p in parents)))
    write_jkl(Path(path), names, scores)
