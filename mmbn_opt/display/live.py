"""The view of a run in a notebook: it moves while the run goes on, has a stop button, and ends as a plain picture.

All messages to the notebook are sent from the main thread: by its event loop while no cell is executed, and by
`Run.wait` and `Run.result` while a cell waits for the run. The last one replaces the view by the same picture as HTML,
so that a saved notebook shows it wherever it is read.
"""

import asyncio
from typing import Any

from mmbn_opt.display.html import run_html
from mmbn_opt.solving.handle import Run

__all__ = ["LiveView", "show_run"]

TICK_SEC = 0.5
_WIDGET = "application/vnd.jupyter.widget-view+json"


def show_run(run: Run) -> None:
    """Show a run in IPython: live in a kernel, as text on a terminal, as a picture when it has ended."""
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    if run.done() or getattr(get_ipython(), "kernel", None) is None:
        display(_picture(run), raw=True)
    else:
        LiveView(run).show()


def _picture(run: Run) -> dict[str, Any]:
    return {"text/plain": repr(run), "text/html": run_html(run)}


class LiveView:
    """One display of a run; it keeps the run alive until that has ended.

    Parameters
    ----------
    run : Run
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._panel = _Panel.of(run)
        self._output: Any = None

    def show(self) -> None:
        """Display the run here, and again whenever it may have moved."""
        from IPython.display import display

        bundle = _picture(self._run)
        if self._panel is not None:
            bundle |= self._panel.bundle()
        self._output = display(bundle, raw=True, display_id=True)
        self._run.watch(self.refresh)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # without a loop the view moves while somebody waits for the run
        loop.call_later(TICK_SEC, self._tick, loop)

    def refresh(self) -> None:
        """Send what is new; to be called in the main thread."""
        if self._run.done():
            self._output.update(_picture(self._run), raw=True)
            if self._panel is not None:
                self._panel.close()
        elif self._panel is not None:
            self._panel.refresh(self._run)
        else:
            self._output.update(_picture(self._run), raw=True)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        ended = self._run.done()
        self.refresh()
        if not ended:
            loop.call_later(TICK_SEC, self._tick, loop)


class _Panel:
    """The widgets: the picture and the button."""

    def __init__(self, run: Run, widgets: Any) -> None:
        self._picture = widgets.HTML(run_html(run))
        self._button = widgets.Button(
            description="Stop", icon="stop", tooltip="Stop the run and keep the best network and the bound"
        )
        self._button.on_click(lambda button: self._stop(run))
        self._box = widgets.VBox([self._button, self._picture])

    @classmethod
    def of(cls, run: Run) -> "_Panel | None":
        """The panel of a run, or None where ipywidgets is not installed."""
        try:
            import ipywidgets
        except ImportError:
            return None
        return cls(run, ipywidgets)

    def bundle(self) -> dict[str, Any]:
        """What a notebook needs to draw the widgets."""
        return {_WIDGET: self._box._repr_mimebundle_()[_WIDGET]}

    def refresh(self, run: Run) -> None:
        self._picture.value = run_html(run)
        if run.stopping:
            self._disarm()

    def close(self) -> None:
        for widget in (self._box, self._picture, self._button):
            # Closing a widget leaves its layout and style behind.
            for part in (widget.layout, getattr(widget, "style", None), widget):
                if part is not None:
                    part.close()

    def _stop(self, run: Run) -> None:
        run.stop()
        self._disarm()

    def _disarm(self) -> None:
        self._button.disabled = True
        self._button.description = "Stopping"
