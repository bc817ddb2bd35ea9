"""The plugin's door: options, ini settings and the marker. Nothing heavy is imported unless the guard is asked for."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

MARKER = "kernelperf(kernel, **settings): guard every variant and mutation of `kernel` at every size"
NOT_ASKED = "kernels are guarded only with --kernelperf"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; the rest is in the ini file or on the marker."""
    group = parser.getgroup("kernelperf", "guard the speed of GPU kernels")
    group.addoption("--kernelperf", action="store_true", help="check, time and judge the kernels")
    group.addoption(
        "--kernelperf-runtime", metavar="NAME", default="auto", help="auto (rocm, then cuda, then cpu), or one of them"
    )
    group.addoption("--kernelperf-out", metavar="DIR", help="where run.json goes; default .kernelperf")
    group.addoption(
        "--kernelperf-trace", metavar="WHEN", help="trace a case's arms: regression (the default), never or always"
    )
    group.addoption(
        "--kernelperf-baselines", metavar="DIR", help="the baselines of the commit that is measured against"
    )
    group.addoption(
        "--kernelperf-parent", metavar="FILE", help="the code of the commit that it is merged into (kernelperf plans)"
    )
    group.addoption("--kernelperf-new-limit-days", metavar="N", help="fail what stays without a baseline for longer")
    group.addoption("--kernelperf-accept", metavar="FILE", help="a maintainer's acceptance of this commit's slowdowns")
    group.addoption("--kernelperf-full", action="store_true", help="time cases too whose instructions did not change")
    group.addoption("--kernelperf-untimed", action="store_true", help="judge results and workgroups; time nothing")
    group.addoption(
        "--update-baselines",
        dest="kernelperf_update",
        metavar="REASON",
        nargs="?",
        const="",
        help="store what is measured as the accepted baselines",
    )
    group.addoption(
        "--extend-baselines",
        dest="kernelperf_extend",
        action="store_true",
        help="time all cases and add today's processes of the accepted binaries to their baselines; accepts nothing",
    )
    for name, (default, text) in _ini().items():
        parser.addini(name, text, default=default)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the guard's own hooks when it is asked for."""
    config.addinivalue_line("markers", MARKER)
    asked = config.getoption("kernelperf") or config.getoption("kernelperf_extend")
    if asked or config.getoption("kernelperf_update") is not None:
        from pytest_kernelperf.plugin.active import activate

        activate(config)
    else:
        config.pluginmanager.register(Inactive(), "kernelperf-inactive")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per variant or mutation and size, asked for or not, so that ``--co`` lists them."""
    if metafunc.definition.get_closest_marker("kernelperf") is not None:
        from pytest_kernelperf.plugin.collection import parametrize

        parametrize(metafunc)


class Inactive:
    """What happens without ``--kernelperf``: the items are skipped, with the reason."""

    @pytest.fixture
    def kernelperf(self) -> None:
        """Stand for the guard; the items that would use it are skipped before they get here."""
        pytest.skip(NOT_ASKED)

    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        """Skip before any fixture runs."""
        for item in items:
            if item.get_closest_marker("kernelperf") is not None:
                item.add_marker(pytest.mark.skip(reason=NOT_ASKED))


def _ini() -> dict[str, tuple[str, str]]:
    from pytest_kernelperf.ini import INI

    return INI
