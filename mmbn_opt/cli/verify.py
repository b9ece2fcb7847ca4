"""``mmbn-opt verify``: a proof checked again from the raw table, by code that shares nothing with the search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmbn_opt.cli import options as opt

if TYPE_CHECKING:
    from mmbn_opt.verification import Verified

__all__ = ["verify"]

WORDS = "verified independently, rounding included"


def verify(
    run: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Of --checkpoint or, of a relaxation, --out; or the file in it.")
    ],
    data: Annotated[
        Path,
        opt.text(
            "--data", "-d", panel=opt.DATA, metavar="FILE", required=True, help="The table that was solved: CSV (.gz)."
        ),
    ],
    na: opt.NaValues = "NA,NaN,?",
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Prove a bound again from the raw table, roundings included."""
    from mmbn_opt.cli.progress import RowsProgress
    from mmbn_opt.cli.tables import na_values, refuse_absent
    from mmbn_opt.exceptions import InputError
    from mmbn_opt.interop.checkpoint import TREE
    from mmbn_opt.interop.proof_file import PROOF
    from mmbn_opt.verification import verify

    places = [run / TREE, run / PROOF] if run.is_dir() else [run]
    proof = next((place for place in places if place.is_file()), None)
    if proof is None:
        told = " and no file ".join(repr(str(place)) for place in places)
        raise InputError(f"There is no file {told}. Give the folder of --checkpoint, or that of --out of a relaxation.")
    refuse_absent(data)
    with RowsProgress("records") as progress:
        found = verify(proof, data, na=na_values(na), progress=progress)
    for line in found.statement:
        typer.echo(line)
    typer.echo(f"objective: {found.value:.6f}  bound: {found.bound:.6f}  gap: {found.gap:.4%}")
    typer.echo("certificate:")
    for check in _certificate(found):
        typer.echo(f"  {check}")
    if proof.parent.joinpath("run.json").is_file():
        _note(proof.parent, data, found)
    if not found.holds:
        raise typer.Exit(1)


def _certificate(found: "Verified") -> list[str]:
    from mmbn_opt.results.result import Check

    share = found.rounding / max(abs(found.bound), 1e-300)
    value = f"{found.value!r} from the table, up to {found.value_error:.1e}"
    lines = "no structure is worth more than", "raised the bound by {:.1e} at most", "value of the best structure"
    if found.minimize:
        lines = "no tables on the structure cost less than", "{:.1e} below what the file says", "value of the tables"
        value = f"{value}; their rows sum to at most 1 and keep the floor up to {found.violation:.1e}"
    beyond, rounding, whose = lines
    return [
        str(Check(WORDS, True, f"{beyond} {found.bound!r}")),
        str(Check("bound proved", found.holds, f"the file says {found.claimed!r}")),
        str(Check("rounding", True, f"{rounding.format(found.rounding)}, a share of {share:.1e}")),
        str(Check(whose, True, value)),
    ]


def _note(folder: Path, data: Path, found: "Verified") -> None:
    """What was verified, above what the run says itself; a run that goes on writes the file anew, without it."""
    import json

    from mmbn_opt.interop.atomic import write_text_atomic
    from mmbn_opt.interop.checkpoint import STATUS

    said = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    said.pop("verified", None)
    limits = [line for line in found.statement if line.startswith("limit: ")]
    verified = {
        "certificate": _certificate(found), "limits": limits, "data": data.name, "bound": found.bound,
        "value": found.value,
    }  # fmt: skip
    content = json.dumps({"verified": verified, **said}, indent=2, ensure_ascii=False)
    write_text_atomic(folder / STATUS, content + "\n")
