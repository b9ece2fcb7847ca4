"""The command line ``mmbn-opt``."""

from mmbn_opt.cli.app import main

__all__ = ["main"]
