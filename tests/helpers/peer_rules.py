"""Other tools' own rules, run in a process of its own whose path holds their packages (build/peers).

    python peer_rules.py TOOL < cases.json         cases: [[old], [new]] lists of processes' samples in us

Prints a JSON list, one answer a case: whether the tool itself calls the new samples slower, or what it says.
"""

import json
import sys
from types import SimpleNamespace


def pytest_benchmark(old, new):
    """``--benchmark-compare-fail``'s own checks on its own statistics."""
    from pytest_benchmark.stats import Stats
    from pytest_benchmark.utils import parse_compare_fail

    sides = []
    for samples in (new, old):
        stats = Stats()
        for value in samples[0]:
            stats.update(value)
        sides.append(stats.as_dict())
    rules = ("median:5%", "mean:5%", "median:10%", "mean:10%")
    return [parse_compare_fail(rule).fails(*sides) is not None for rule in rules]


def asv(old, new):
    """``asv compare``: is the old result better by the default factor?"""
    from asv.commands.compare import _is_result_better
    from asv_runner.statistics import compute_stats

    first, second = ([value for process in side for value in process] for side in (old, new))
    (a, a_stats), (b, b_stats) = compute_stats(first, 1), compute_stats(second, 1)
    return _is_result_better(a, b, (a_stats, first), (b_stats, second), 1.1)


def benchmatrix(old, new):
    """The interval of the improvement of process means, in percent, lower being better, and its verdict at 12 cases."""
    from benchmatrix.bench_statistics import bootstrap_median_ratio_interval

    means = [[sum(process) / len(process) for process in side] for side in (old, new)]
    found = bootstrap_median_ratio_interval(
        *means, lower_is_better=True, confidence_level=1 - 0.05 / 12, resamples=20_000, random_seed=0
    )
    return [found.low, found.high, found.high < -5.0]


def nvbench(old, new):
    """``nvbench_compare_robust``'s decision, with the clock at a constant rate."""
    import numpy
    from cuda.bench.scripts import nvbench_compare_robust as robust

    robust.np = numpy  # its own main imports it late, with what its tables need

    def timing(samples):
        values = numpy.asarray(samples, dtype=numpy.float64)
        source = SimpleNamespace(values=values, has_material_payload=lambda: True)
        clock = SimpleNamespace(values=numpy.full(len(values), 1.98e9), has_material_payload=lambda: True)
        nothing = dict.fromkeys(
            ("minimum", "maximum", "mean", "stdev", "stdev_relative", "first_quartile", "median", "third_quartile")
        )
        return SimpleNamespace(
            **nothing,
            interquartile_range=None,
            interquartile_range_relative=None,
            sm_clock_rate_mean=1.98e9,
            sample_source=source,
            frequency_source=clock,
            samples=values,
            frequencies=clock.values,
        )

    return robust.compare_gpu_timings(timing(old[0]), timing(new[0])).status.value == "SLOW"


if __name__ == "__main__":
    rule = globals()[sys.argv[1]]
    json.dump([rule(*case) for case in json.load(sys.stdin)], sys.stdout)
