"""Where a network and a structure can travel: methods that look their function up when they are called."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mmbn_opt._lazy import delegate

if TYPE_CHECKING:
    from mmbn_opt.networks.network import BayesianNetwork
    from mmbn_opt.networks.structure import Structure

__all__ = ["NetworkExchange", "StructureExchange"]


class NetworkExchange:
    """What a `BayesianNetwork` can be written as and read from; what each place keeps is told in the guide."""

    def save(self, path: str | Path) -> None:
        """Write the network as JSON (no pickle)."""
        delegate("save_network")(self, path)

    @staticmethod
    def load(path: str | Path) -> "BayesianNetwork":
        """Read a network that `save` wrote."""
        network: BayesianNetwork = delegate("load_network")(path)
        return network

    def to_bif(self, path: str | Path) -> None:
        """Write the network in the Bayesian Interchange Format."""
        delegate("write_bif")(self, path)

    @staticmethod
    def from_bif(path: str | Path, target: str) -> "BayesianNetwork":
        """Read a BIF file; `target` names the class variable."""
        network: BayesianNetwork = delegate("read_bif")(path, target)
        return network

    def to_xmlbif(self, path: str | Path) -> None:
        """Write the network as XMLBIF 0.3 (extra ``interop``); labels become text."""
        delegate("write_xmlbif")(self, path)

    @staticmethod
    def from_xmlbif(path: str | Path, target: str) -> "BayesianNetwork":
        """Read an XMLBIF file (extra ``interop``); `target` names the class variable."""
        network: BayesianNetwork = delegate("read_xmlbif")(path, target)
        return network

    def to_uai(self, path: str | Path, *, layout: Literal["uai", "pyagrum"] = "uai") -> None:
        """Write the numbers of the network in the UAI format, which has no names: keep `variables` for reading."""
        delegate("write_uai")(self, path, layout=layout)

    @staticmethod
    def from_uai(
        path: str | Path,
        target: str | int | None = None,
        *,
        variables: "Mapping[str, Sequence[Any]] | Sequence[Any] | None" = None,
        layout: Literal["uai", "pyagrum"] = "uai",
    ) -> "BayesianNetwork":
        """Read a UAI file; the class is the last variable unless told, `variables` gives names and labels back."""
        network: BayesianNetwork = delegate("read_uai")(path, target, variables=variables, layout=layout)
        return network

    def to_pgmpy(self) -> Any:
        """The network as a ``pgmpy.models.DiscreteBayesianNetwork`` (extra ``interop``)."""
        return delegate("to_pgmpy")(self)

    @staticmethod
    def from_pgmpy(model: Any, target: str) -> "BayesianNetwork":
        """A pgmpy network as ours; `target` names the class variable."""
        network: BayesianNetwork = delegate("from_pgmpy")(model, target)
        return network

    def to_pyagrum(self) -> Any:
        """The network as a ``pyagrum.BayesNet`` (extra ``interop``); labels become text."""
        return delegate("to_pyagrum")(self)

    @staticmethod
    def from_pyagrum(model: Any, target: str) -> "BayesianNetwork":
        """A pyAgrum network as ours; `target` names the class variable."""
        network: BayesianNetwork = delegate("from_pyagrum")(model, target)
        return network

    def to_networkx(self) -> Any:
        """The DAG as a ``networkx.DiGraph`` with labels and tables as node attributes (extra ``interop``)."""
        return delegate("network_to_networkx")(self)

    @staticmethod
    def from_networkx(graph: Any, target: str | None = None) -> "BayesianNetwork":
        """The network of a graph that `to_networkx` made, or that has the node attributes states, parents and cpt."""
        network: BayesianNetwork = delegate("network_from_networkx")(graph, target)
        return network

    def to_edge_list(self, *, names: bool = True) -> list[tuple[Any, Any]]:
        """``(parent, child)`` pairs, by names or, as igraph has them, by node numbers (the class last)."""
        pairs: list[tuple[Any, Any]] = delegate("to_edge_list")(self.structure, names=names)  # type: ignore[attr-defined]
        return pairs


class StructureExchange:
    """What a `Structure` can be turned into and made from."""

    def to_networkx(self) -> Any:
        """The DAG as a ``networkx.DiGraph`` (extra ``interop``)."""
        return delegate("to_networkx")(self)

    @staticmethod
    def from_networkx(graph: Any, target: str | None = None) -> "Structure":
        """The structure of a directed graph; the class is `target`, or what the graph's ``class_name`` says."""
        structure: Structure = delegate("structure_from_networkx")(graph, target)
        return structure

    def to_edge_list(self, *, names: bool = True) -> list[tuple[Any, Any]]:
        """``(parent, child)`` pairs, by names or, as igraph has them, by node numbers (the class last)."""
        pairs: list[tuple[Any, Any]] = delegate("to_edge_list")(self, names=names)
        return pairs

    @staticmethod
    def from_edge_list(
        edges: Iterable[Sequence[Any]], feature_names: Sequence[str], class_name: str = "class"
    ) -> "Structure":
        """The structure of ``(parent, child)`` pairs, each by names or by node numbers."""
        structure: Structure = delegate("from_edge_list")(edges, feature_names, class_name)
        return structure
