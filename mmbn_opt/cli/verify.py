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
    run: Annotated[Path, typer.Argument(metavar="FOLDER", help="What --checkpoint wrote, or its tree.mmbn.")],
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
    from mmbn_opt.cli.tables import na_values, refuse_absent
    from mmbn_opt.exceptions import InputError
    from mmbn_opt.interop.checkpoint import TREE
    from mmbn_opt.verification import verify

    tree = run / TREE if run.is_dir() else run
    if not tree.is_file():
        raise InputError(f"There is no file {str(tree)!r}. Give the folder of --checkpoint.")
    refuse_absent(data)
    found = verify(tree, data, na=na_values(na))
    for line in found.statement:
        typer.echo(line)
    gap = max(0.0, found.bound - found.value) / max(abs(found.bound), 1e-300)
    typer.echo(f"objective: {found.value:.6f}  bound: {found.bound:.6f}  gap: {gap:.4%}")
    typer.echo("certificate:")
    for check in _certificate(found):
        typer.echo(f"  {check}")
    if tree.parent.joinpath("run.json").is_file():
        _note(tree.parent, data, found)
    if not found.holds:
        raise typer.Exit(1)


def _certificate(found: "Verified") -> list[str]:
    from mmbn_opt.results.result import Check

    share = found.rounding / max(abs(found.bound), 1e-300)
    value = f"{found.value!r} from the table, up to {found.value_error:.1e}"
    return [
        str(Check(WORDS, True, f"no structure is worth more than {found.bound!r}")),
        str(Check("bound proved", found.holds, f"the file says {found.claimed!r}")),
        str(Check("rounding", True, f"raised the bound by {found.rounding:.1e} at most, a share of {share:.1e}")),
        str(Check("value of the best structure", True, value)),
    ]


def _note(folder: Path, data: Path, found: "Verified") -> None:
    """What was verified, above what the run says itself; a run that goes on writes the file anew, without it."""
    import json

    from mmbn_opt.interop.atomic import write_text_atomic
    from mmbn_opt.interop.checkpoint import STATUS

    said = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    said.pop("verified", None)
    verified = {"certificate": _certificate(found), "data": data.name, "bound": found.bound, "value": found.value}
    content = json.dumps({"verified": verified, **said}, indent=2, ensure_ascii=False)
    write_text_atomic(folder / STATUS, content + "\n")
