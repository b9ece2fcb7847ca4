"""Where a problem can travel: methods that look their function up when they are called."""

from pathlib import Path
from typing import Any

from .._lazy import delegate

__all__ = ["ModelExchange"]


class ModelExchange:
    """What a problem can be handed over as, for rows and solvers of one's own.

    Columns keep the order of the program: a list of the values of the first ones is what `recover` takes, and so is a
    mapping from names to values.
    """

    def to_highspy(self) -> Any:
        """The row form as a ``highspy.Highs``, a minimum: ``addRow`` and ``run`` are yours.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
        >>> problem = mm.SoftMarginStructure(data)
        >>> highs = problem.to_highspy()
        >>> highs.getColName(1)[1], highs.getRowName(2)[1]
        ('parents[x0 | class]', 'parent_of_class[x0]')
        >>> status = highs.run()
        >>> problem.recover(highs.getSolution().col_value).parents == mm.solve(problem).model.parents
        True
        """
        return delegate("to_highspy")(self)

    def to_scip(self) -> Any:
        """The row form as a ``pyscipopt.Model`` (extra ``scip``), a minimum: ``addCons`` and ``optimize`` are yours."""
        return delegate("to_scip")(self)

    def to_pyomo(self) -> Any:
        """A Pyomo model (extra ``pyomo``), a minimum: ``x["parents[age | class]"]`` and ``row["margin[row 17, ...]"]``.

        A convex problem has ``w``, ``slack``, ``margin`` and ``block``; its objective is divided by the total weight.
        """
        return delegate("to_pyomo")(self)

    def to_cvxpy(self) -> Any:
        """A cvxpy problem, a minimum, with one variable ``x``; its names are those of the program's columns.

        A convex problem has the variables ``w`` and ``slack``, and its objective is divided by the total weight.
        """
        return delegate("to_cvxpy")(self)

    def to_linopy(self) -> Any:
        """The row form as a ``linopy.Model`` (extra ``linopy``), a minimum: ``x["parents[age | class]"]``.

        ``x`` has the integer columns, parent sets among them, ``y`` the others, and ``row`` the rows, all by name.
        """
        return delegate("to_linopy")(self)

    def to_mof(self, path: str | Path) -> Path:
        """The problem as a file of MathOptFormat 1.0 (JSON), a minimum, which JuMP reads; returns the path.

        Structure problems are written as their row form, `MaxMarginRelaxation` by exponential cones. Names are those
        of the other forms, and values by these names are what `recover` takes.

        Examples
        --------
        >>> import json, tempfile
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = mm.SoftMarginStructure(data).to_mof(Path(folder, "problem.mof.json"))
        ...     document = json.loads(path.read_text())
        >>> document["variables"][1], document["constraints"][0]["set"]
        ({'name': 'parents[x0 | class]'}, {'type': 'EqualTo', 'value': 1.0})
        """
        written: Path = delegate("to_mof")(self, path)
        return written
