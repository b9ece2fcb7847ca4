"""Drawings, notebook fragments, plots and reports: SVG and HTML that need nothing but a reader."""
