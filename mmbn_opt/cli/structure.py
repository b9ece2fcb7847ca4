"""``mmbn-opt structure``: the best structure for a score, with its proof."""

from dataclasses import replace
from typing import Any

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt
from mmbn_opt.cli import side_options as side
from mmbn_opt.cli.clock import Clock
from mmbn_opt.cli.output import exit_status, say_result

__all__ = ["structure"]


def structure(
    context: typer.Context,
    out: opt.Out,
    data: opt.DataIfAny = None,
    target: opt.TargetIfAny = None,
    scores: opt.Scores = None,
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.P = 0.9,
    solver: opt.Solver = "auto",
    time_limit: opt.TimeLimit = None,
    rel_gap: opt.RelGap = 0.0,
    checkpoint: opt.Checkpoint = None,
    cluster: opt.Cluster = None,
    threads: opt.Threads = 1,
    seed: opt.Seed = 0,
    smoothing: opt.Smoothing = 1.0,
    ess: opt.Ess = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = choices.Missing.ERROR,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    codes_in: opt.CodesIn = None,
    no_discretize: opt.NoDiscretize = False,
    test: opt.Test = None,
    hold_out: opt.HoldOut = None,
    acyclicity: opt.Acyclicity = choices.Acyclicity.AUTO,
    parent_sets: opt.ParentSets = choices.ParentSets.ALL,
    candidates: opt.Candidates = None,
    calibration: opt.Calibration = "auto",
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    max_edges: side.MaxEdges = None,
    max_features: side.MaxFeatures = None,
    max_parameters: side.MaxParameters = None,
    feature_costs: side.FeatureCosts = None,
    budget: side.Budget = None,
    tiers: side.Tiers = "",
    above: side.Above = None,
    not_above: side.NotAbove = None,
    all_or_none: side.AllOrNone = None,
    at_most_one: side.AtMostOne = None,
    edge_penalty: side.EdgePenalty = None,
    parameter_penalty: side.ParameterPenalty = None,
    likelihood: side.Likelihood = None,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Find the structure with the best score, and prove how good it is.

    It shows the incumbent (the best network so far), the bound (what no network can exceed) and the gap between them.

    Limits narrow what a structure may be, and the proof is for what is left.

    Ctrl-C ends the search: what was found so far is written.
    """
    from mmbn_opt._budget import interruptible

    clock = Clock(time_limit)
    limits = side.SideOptions(
        max_edges, max_features, max_parameters, feature_costs, budget, tiers, above, not_above, all_or_none,
        at_most_one,
    ).constraints()  # fmt: skip
    terms = side.terms(edge_penalty, parameter_penalty, likelihood)
    call: dict[str, Any] = {"rel_gap": rel_gap, "threads": threads, "seed": seed, "verbose": opt.solver_log(verbose)}
    if scores is not None:
        from mmbn_opt.cli.given_scores import solve_scores
        from mmbn_opt.cli.problems import edges

        settings: dict[str, Any] = {
            "max_parents": max_parents, "acyclicity": acyclicity.value,
            "required_edges": edges("--require", require), "forbidden_edges": edges("--forbid", forbid),
            "constraints": limits,
        }  # fmt: skip
        solve_scores(context, scores, out, settings, solver, clock, call, checkpoint, cluster)
    from mmbn_opt.cli.given_scores import require_data

    data, target = require_data(data, target)
    from mmbn_opt.cli.accuracy import HeldOut, Judged
    from mmbn_opt.cli.probabilities import Calibrating
    from mmbn_opt.cli.problems import Problem, try_call
    from mmbn_opt.cli.progress import Progress
    from mmbn_opt.cli.running import Keeper, found, hand_over, open_folder
    from mmbn_opt.cli.tables import Table, calibrated_on, kinds_of, learned_of
    from mmbn_opt.formulations.structure.by_score import asks_for_margin
    from mmbn_opt.heuristics import naive_bayes, tan_cmi
    from mmbn_opt.networks.network import BayesianNetwork
    from mmbn_opt.solving.dispatch import solve
    from mmbn_opt.tuning.calibration import best_start, calibrate

    problem = Problem(
        score, max_parents, p, smoothing, ess, acyclicity, parent_sets, require, forbid, candidates, limits, terms
    )  # fmt: skip
    with interruptible():
        try_call(problem.tried(), solver, time_limit=time_limit, **call)
        calibrating = Calibrating(calibration, trained=asks_for_margin(score))
        kinds = kinds_of(categorical, numeric)
        table = Table(data, target, na, drop, test, hold_out, seed, codes_in)
    with open_folder(out) as folder:
        with interruptible():
            rows = learned_of(table, kinds, missing, no_discretize)
            train = rows.data
            formulation = problem.formulation(train)
            others = {}
            if rows.held_out is not None:
                for name, graph in (("naive Bayes", naive_bayes(train)), ("TAN", tan_cmi(train))):
                    others[name] = BayesianNetwork.fit(graph, train, smoothing)
            held_out = HeldOut(rows.held_out, rows.where, others)
        search = clock.for_search(calibrating.share)
        with Progress(time_limit) as progress, Keeper(folder, na_values=table.na_values, seconds=search):
            result = solve(
                formulation, solver, time_limit=search, callback=progress, checkpoint=checkpoint, cluster=cluster,
                **call,
            )  # fmt: skip
        result = replace(found(result), settings={**result.settings, "time_limit": time_limit})

        def learn(part: Any, seconds: float | None) -> BayesianNetwork:
            return best_start(problem.formulation(part), seed=seed, seconds=seconds)

        def choose(seconds: float | None) -> Any:
            own, numbers = result.model, rows.numbers
            return calibrate(calibrated_on(train), learn, own=own, numbers=numbers, seed=seed, seconds=seconds)

        chosen = calibrating.of(result, choose, clock)
        judged = Judged(held_out, train.n_samples)
        with clock.handing_over():
            judged.judge(result.model, formulation.samples, "this network", chosen)

        def say() -> None:
            say_result(result)
            judged.say()

        hand_over(
            result, folder, say, title=f"{formulation.title} of {data.name}", na_values=table.na_values,
            **judged.for_files(),
        )  # fmt: skip
    raise typer.Exit(exit_status(result))
