"""Where a network and a structure can travel: methods that look their function up when they are called."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from mmbn_opt._lazy import delegate
from mmbn_opt.data.unseen import Unseen

__all__ = ["NetworkExchange", "Scoring", "StructureExchange"]


class Drawable:
    """What a graph can be drawn as."""

    def to_dot(self, path: str | Path | None = None) -> str:
        """The graph in the DOT language of Graphviz; written to a file where there is a path."""
        text: str = delegate("to_dot")(self, path)
        return text


class Scoring:
    """What classifies single rows without this package."""

    def scorer(self, *, unseen: Unseen = "warn") -> Any:
        """A `Scorer` of rows given as dicts, one at a time, for a service: same decisions, same probabilities.

        Parameters
        ----------
        unseen : {"warn", "missing", "error"}
            Labels that training never saw: summed out with a warning, in silence, or refused by ``ValueError``.
        """
        return delegate("make_scorer")(self, unseen=unseen)

    def to_python(self, path: str | Path) -> None:
        """Write the scorer as a Python file that needs the standard library alone."""
        delegate("write_scorer")(self, path)


class FilePredicting:
    """What classifies the rows of a file."""

    def predict_file(self, data: str | Path, out: str | Path, **settings: Any) -> Any:
        """Classify the rows of a file into a CSV file, in constant memory; see `mmbn_opt.predict_file`."""
        return delegate("predict_file")(self, data, out, **settings)


class NetworkExchange(Drawable, Scoring, FilePredicting):
    """What a `BayesianNetwork` can be written as and read from; what each place keeps is told in the guide."""

    def save(self, path: str | Path) -> None:
        """Write the network as JSON (no pickle)."""
        delegate("save_network")(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a network that `save` wrote."""
        network: Self = delegate("load_network")(path)
        return network

    def to_bif(self, path: str | Path) -> None:
        """Write the network in the Bayesian Interchange Format."""
        delegate("write_bif")(self, path)

    @classmethod
    def from_bif(cls, path: str | Path, target: str | None = None) -> Self:
        """Read a BIF file; `target` names the class variable, if the network is to have one."""
        network: Self = delegate("read_bif")(path, target)
        return network

    def to_xmlbif(self, path: str | Path) -> None:
        """Write the network as XMLBIF 0.3 (extra ``interop``); labels become text."""
        delegate("write_xmlbif")(self, path)

    @classmethod
    def from_xmlbif(cls, path: str | Path, target: str | None = None) -> Self:
        """Read an XMLBIF file (extra ``interop``); `target` names the class variable, if there is to be one."""
        network: Self = delegate("read_xmlbif")(path, target)
        return network

    def to_uai(self, path: str | Path, *, layout: Literal["uai", "pyagrum"] = "uai") -> None:
        """Write the numbers of the network in the UAI format, which has no names: keep `variables` for reading."""
        delegate("write_uai")(self, path, layout=layout)

    @classmethod
    def from_uai(
        cls,
        path: str | Path,
        target: str | int | None = None,
        *,
        variables: "Mapping[str, Sequence[Any]] | Sequence[Any] | None" = None,
        layout: Literal["uai", "pyagrum"] = "uai",
    ) -> Self:
        """Read a UAI file; `variables` gives names and labels back, the last one's as the class unless told.

        Without them there is no class but where `target` names it, by its number in the file.
        """
        network: Self = delegate("read_uai")(path, target, variables=variables, layout=layout)
        return network

    def to_pgmpy(self) -> Any:
        """The network as a ``pgmpy.models.DiscreteBayesianNetwork`` (extra ``interop``)."""
        return delegate("to_pgmpy")(self)

    @classmethod
    def from_pgmpy(cls, model: Any, target: str | None = None) -> Self:
        """A pgmpy network as ours; `target` names the class variable, if there is to be one."""
        network: Self = delegate("from_pgmpy")(model, target)
        return network

    def to_pyagrum(self) -> Any:
        """The network as a ``pyagrum.BayesNet`` (extra ``interop``); labels become text."""
        return delegate("to_pyagrum")(self)

    @classmethod
    def from_pyagrum(cls, model: Any, target: str | None = None) -> Self:
        """A pyAgrum network as ours; `target` names the class variable, if there is to be one."""
        network: Self = delegate("from_pyagrum")(model, target)
        return network

    def to_svg(
        self,
        path: str | Path | None = None,
        *,
        evidence: Any = None,
        likelihood: Mapping[str, Any] | None = None,
        marginals: bool = False,
    ) -> str:
        """The drawing as SVG, which a notebook shows; written to a file where there is a path.

        With evidence (one case, as for `query`), or with ``marginals=True``, each node has a bar for each of its
        states, as likely as it is given what is known.
        """
        drawing: str = delegate("to_svg")(self, path, evidence=evidence, likelihood=likelihood, marginals=marginals)
        return drawing

    def to_networkx(self) -> Any:
        """The DAG as a ``networkx.DiGraph`` with labels and tables as node attributes (extra ``interop``)."""
        return delegate("network_to_networkx")(self)

    @classmethod
    def from_networkx(cls, graph: Any, target: str | None = None) -> Self:
        """The network of a graph that `to_networkx` made, or that has the node attributes states, parents and cpt."""
        network: Self = delegate("network_from_networkx")(graph, target)
        return network

    def to_edge_list(self, *, names: bool = True) -> list[tuple[Any, Any]]:
        """``(parent, child)`` pairs, by names or, as igraph has them, by node numbers (the class last)."""
        pairs: list[tuple[Any, Any]] = delegate("to_edge_list")(self.structure, names=names)  # type: ignore[attr-defined]
        return pairs


class StructureExchange(Drawable):
    """What a `Structure` can be turned into and made from."""

    def to_svg(self, path: str | Path | None = None) -> str:
        """The drawing as SVG, which a notebook shows; written to a file where there is a path."""
        drawing: str = delegate("to_svg")(self, path)
        return drawing

    def to_networkx(self) -> Any:
        """The DAG as a ``networkx.DiGraph`` (extra ``interop``)."""
        return delegate("to_networkx")(self)

    @classmethod
    def from_networkx(cls, graph: Any, target: str | None = None) -> Self:
        """The structure of a directed graph; the class is `target`, or the graph's ``class_name``, or there is none."""
        structure: Self = delegate("structure_from_networkx")(graph, target)
        return structure

    def to_edge_list(self, *, names: bool = True) -> list[tuple[Any, Any]]:
        """``(parent, child)`` pairs, by names or, as igraph has them, by node numbers (the class last)."""
        pairs: list[tuple[Any, Any]] = delegate("to_edge_list")(self, names=names)
        return pairs

    @classmethod
    def from_edge_list(
        cls, edges: Iterable[Sequence[Any]], feature_names: Sequence[str], class_name: str = "class"
    ) -> Self:
        """The structure of ``(parent, child)`` pairs, each by names or by node numbers."""
        structure: Self = delegate("from_edge_list")(edges, feature_names, class_name)
        return structure
