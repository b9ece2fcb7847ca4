"""What is kept of an answer: a summary to print, a report to pass on, a folder with all of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmbn_opt.display._classifier_facts import classifier_headline
from mmbn_opt.display._facts import certificate_sentence, headline
from mmbn_opt.display.report import render_report
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.result_files import write_result_files
from mmbn_opt.results.confusion import Confusion
from mmbn_opt.results.result import Result
from mmbn_opt.scores.calibration import Calibration, Reliability

if TYPE_CHECKING:
    from mmbn_opt.display.reasons import Reasons

__all__ = [
    "classifier_report",
    "classifier_summary",
    "reliability_rows",
    "result_report",
    "result_summary",
    "save_result",
]


def result_summary(result: Result) -> str:
    """Status, figures and certificate of a result as lines of text."""
    return _summary(headline(result), certificate_sentence(result.certificate), [])


def classifier_summary(estimator: Any) -> str:
    """The same of a fitted classifier, and what is known of its probabilities."""
    told = [f"Probabilities: {estimator.calibration_}"]
    text = " ".join(repr(estimator).split())
    return f"{text}\n{_summary(classifier_headline(estimator), certificate_sentence(estimator.certificate_), told)}"


def _summary(head: Any, certificate: str, more: list[str]) -> str:
    figures = [f"{name}: {value}" for name, value in head.figures]
    return "\n".join([f"{head.status}: {head.sentence}", *figures, *more, f"Certificate: {certificate}"])


def result_report(result: Result, path: str | Path | None = None) -> str:
    """The report of a result as HTML, written to a file where there is a path."""
    html = render_report(result)
    if path is not None:
        write_text_atomic(path, html)
    return html


def classifier_report(
    result: Result,
    calibration: Calibration,
    path: str | Path | None = None,
    *,
    held_out: Confusion | None = None,
    reliability: Reliability | None = None,
    reasons: "Reasons | None" = None,
    title: str | None = None,
) -> str:
    """The report of a classifier: that of its result, with its probabilities and how it does on other rows."""
    rows = reliability_rows(calibration, reliability)
    html = render_report(result, held_out=held_out, probabilities=rows, reasons=reasons, title=title)
    if path is not None:
        write_text_atomic(path, html)
    return html


def save_result(result: Result, folder: str | Path) -> list[Path]:
    """Write ``result.json``, ``model.json``, ``network.bif``, ``trace.csv`` and ``report.html``, all or none."""
    return write_result_files(result, folder, report_html=render_report(result))


def reliability_rows(calibration: Calibration, held_out: Reliability | None = None) -> Sequence[tuple[str, str]]:
    """What is known of a classifier's probabilities, as pairs of text.

    Examples
    --------
    >>> reliability_rows(Calibration(2.0, 50.0, Reliability(0.5, 0.1), Reliability(0.4, 0.02)))[1]
    ('Log loss, held out inside fit', '0.4000 (0.5000 without calibration)')
    """
    rows = [("Calibration", str(calibration) if calibration.reason else str(calibration).partition(", chosen")[0])]
    if calibration.before is not None and calibration.after is not None:
        before, after = calibration.before, calibration.after
        where = "training rows, for want of time" if calibration.seen else "held out inside fit"
        rows += [
            (f"Log loss, {where}", f"{after.log_loss:.4f} ({before.log_loss:.4f} without calibration)"),
            (
                f"Calibration error, {where}",
                f"{after.calibration_error:.4f} ({before.calibration_error:.4f} without calibration)",
            ),
            ("Rows that it was chosen on", f"{calibration.rows:,.6g}"),
        ]
    if held_out is not None:
        rows += [
            ("Log loss, held-out rows", f"{held_out.log_loss:.4f}"),
            ("Calibration error, held-out rows", f"{held_out.calibration_error:.4f}"),
        ]
    return rows
