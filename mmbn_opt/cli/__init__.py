"""Options in, exit status out; no logic that a Python user would miss."""

from mmbn_opt.cli.app import main

__all__ = ["main"]
