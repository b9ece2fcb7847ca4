"""Value and gradient of the smooth margin: the compiled passes against plain vectorised NumPy, in one run on one core.

Usage: ``python benchmarks/cg/kernel.py [data set]`` (default: mnist pooled to 14 x 14, 60,000 x 196 x 10).
"""

import sys
import time

import numpy as np
from scipy.special import logsumexp, softmax
from shared_data import load

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.programs.base import ProgramKind


def plain(formulation: SmoothMargin, beta: np.ndarray) -> tuple[float, np.ndarray]:
    """The same numbers with one gather and one scatter a feature, as one would write them with NumPy (naive Bayes)."""
    data, layout = formulation.data, formulation.layout
    rows, labels, weight = np.arange(data.n_samples), data.target_codes, data.sample_weight
    parts = [beta[a:b].reshape(layout.shape(v)) for v, a, b in zip(layout.nodes, *_ends(layout), strict=True)]
    logs = [part - logsumexp(part, axis=1, keepdims=True) for part in parts]
    joint = np.repeat(logs[-1], data.n_samples, axis=0)
    for node, table in zip(layout.nodes[:-1], logs[:-1], strict=True):
        joint += table.T[data.codes[:, node]]
    own = joint[rows, labels].copy()
    joint[rows, labels] = -np.inf
    y = formulation.lam * (own - logsumexp(formulation.eta * joint, axis=1) / formulation.eta)
    kappa = formulation.kappa
    value = np.where(y <= 1 - 2 * kappa, y + kappa, np.where(y < 1, 1 - (y - 1) ** 2 / (4 * kappa), 1.0))
    slope = weight * formulation.lam * np.clip((1 - y) / (2 * kappa), 0.0, 1.0)
    slopes = -slope[:, None] * softmax(formulation.eta * joint, axis=1)
    slopes[rows, labels] = slope
    gradients = []
    for node, table in zip(layout.nodes[:-1], logs[:-1], strict=True):
        counts = np.empty_like(table)
        for k in range(data.n_classes):
            counts[k] = np.bincount(data.codes[:, node], weights=slopes[:, k], minlength=table.shape[1])
        gradients.append((counts - np.exp(table) * counts.sum(axis=1, keepdims=True)).ravel())
    counts = slopes.sum(axis=0, keepdims=True)
    gradients.append((counts - np.exp(logs[-1]) * counts.sum()).ravel())
    return -float(weight @ value), -np.concatenate(gradients)


def _ends(layout):
    return layout.starts[:-1], layout.starts[1:]


def best_of(what, repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        before = time.perf_counter()
        what()
        times.append(time.perf_counter() - before)
    return min(times)


def main() -> None:
    train, _ = load(sys.argv[1] if len(sys.argv) > 1 else "mnist")
    structure = mm.naive_bayes(train)
    formulation = SmoothMargin(train, structure)
    before = time.perf_counter()
    program = formulation.build(ProgramKind.NONLINEAR)
    print(f"{train}, {len(program.x0):,} parameters; built in {time.perf_counter() - before:.2f} s")
    value, gradient = program.value_and_gradient(program.x0)
    expected, slopes = plain(formulation, program.x0)
    print(f"values {value:.6f} and {expected:.6f}, largest difference of gradients {abs(gradient - slopes).max():.1e}")
    ours = best_of(lambda: program.value_and_gradient(program.x0))
    theirs = best_of(lambda: plain(formulation, program.x0), repeat=2)
    print(f"smooth margin, value and gradient: {ours:.4f} s, plain NumPy {theirs:.3f} s ({theirs / ours:.1f}x)")
    two = SmoothMargin(train, structure, threads=2).build(ProgramKind.NONLINEAR)
    print(f"  with two threads: {best_of(lambda: two.value_and_gradient(program.x0)):.4f} s")
    likelihood = ConditionalLikelihood(train, structure).build(ProgramKind.NONLINEAR)
    print(f"conditional likelihood: {best_of(lambda: likelihood.value_and_gradient(program.x0)):.4f} s")
    tree = SmoothMargin(train, mm.tan_cmi(train)).build(ProgramKind.NONLINEAR)
    print(f"smooth margin, TAN, {len(tree.x0):,} parameters: {best_of(lambda: tree.value_and_gradient(tree.x0)):.4f} s")


if __name__ == "__main__":
    main()
