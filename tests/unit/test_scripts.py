"""The scripts' own work: what they find, when they install, and the sentence for each thing that is missing.

Python and pip are played by a small program that writes down how it was called, so nothing is downloaded.
"""

from __future__ import annotations

import shutil
import stat
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = (
    "bash",
    "cat",
    "cp",
    "cut",
    "dirname",
    "env",
    "find",
    "flock",
    "mkdir",
    "mv",
    "rm",
    "sha256sum",
    "sleep",
    "sort",
    "xargs",
)

# Stands for python3 on PATH and, copied by its own `-m venv`, for the environment's python.
PLAYED_PYTHON = """#!/usr/bin/env bash
case "$*" in
    *"version_info >= (3, 10)"*) [[ -e $PLAY/too_old ]] || printf '%s\\n' "$0" ;;
    *"import venv, ensurepip"*) [[ ! -e $PLAY/no_venv ]] ;;
    *version_info*) echo 3.12 ;;
    *"print(sys.version)"*) echo played ;;
    "-c import pip") : ;;
    "-m venv"*) mkdir -p "${@: -1}/bin"; cp "$PLAY/bin/python3" "${@: -1}/bin/python" ;;
    "-m pip"*)
        printf '%s\\n' "$*" >>"$PLAY/installs"
        [[ ! -e $PLAY/slow ]] || sleep 0.5
        if [[ -e $PLAY/no_network ]]; then echo "no matching distribution"; exit 1; fi ;;
    *) printf '%s\\n' "$*" >>"$PLAY/runs" ;;
esac
"""


@dataclass(frozen=True)
class Checkout:
    """A copy of the scripts in a project of its own, on a machine whose PATH holds only what is put there."""

    project: Path
    play: Path

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts to its end."""
        return subprocess.run(
            [self.project / "scripts" / script, *arguments],
            env=self.environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def environment(self) -> dict[str, str]:
        """PATH with the few tools, and where the played Python writes."""
        return {"PATH": str(self.play / "bin"), "PLAY": str(self.play)}

    def lines(self, name: str) -> list[str]:
        """What the played Python wrote down: ``installs`` or ``runs``."""
        path = self.play / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def write_program(path: Path, text: str) -> None:
    """Write an executable file."""
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A machine with Python and a C++ compiler, and a fresh clone on it."""
    if not (ROOT / "scripts").is_dir():
        pytest.skip("the scripts are not beside these tests")
    project, play = tmp_path / "a clone", tmp_path / "play"
    (play / "bin").mkdir(parents=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, f"these tests need {tool}"
        (play / "bin" / tool).symlink_to(found)
    write_program(play / "bin" / "python3", PLAYED_PYTHON)
    write_program(play / "bin" / "c++", "#!/usr/bin/env bash\n")
    shutil.copytree(ROOT / "scripts", project / "scripts")
    for folder in ("native", "pytest_kernelperf", "benchmarks"):
        (project / folder).mkdir()
    (project / "pyproject.toml").write_text("", encoding="utf-8")
    (project / "native" / "loop.c").write_text("", encoding="utf-8")
    (project / "benchmarks" / "cpu_runtime.py").write_text("", encoding="utf-8")
    (project / "pytest_kernelperf" / "__init__.py").write_text("", encoding="utf-8")
    return Checkout(project, play)


def test_the_first_command_sets_everything_up(checkout: Checkout) -> None:
    """On a fresh clone each script makes the environment, installs the project and does its work."""
    finished = checkout.run("guard", "-k", "two words")
    assert finished.returncode == 0, finished.stderr
    assert ["--editable .[parallel]" in line for line in checkout.lines("installs")] == [True]
    assert checkout.lines("runs") == ["-m pytest --kernelperf kernels/ -k two words"]


def test_nothing_is_installed_twice(checkout: Checkout) -> None:
    """The second command starts at once, also after an edit of Python sources, which are live."""
    checkout.run("guard")
    (checkout.project / "pytest_kernelperf" / "judge.py").write_text("changed = True\n", encoding="utf-8")
    checkout.run("guard")
    assert len(checkout.lines("installs")) == 1
    assert len(checkout.lines("runs")) == 2


@pytest.mark.parametrize("name", ["pyproject.toml", "native/loop.c", "native/new.h", "scripts/environment"])
def test_what_decides_the_installation_renews_it(checkout: Checkout, name: str) -> None:
    """An edit of settings or native sources is never run with the old build."""
    checkout.run("guard")
    with (checkout.project / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    checkout.run("guard")
    assert len(checkout.lines("installs")) == 2


def test_the_tests_add_what_development_needs_and_the_guard_keeps_it(checkout: Checkout) -> None:
    """Guard and test share one environment and do not reinstall it in turns."""
    for script in ("guard", "test", "guard", "test"):
        checkout.run(script)
    assert [line.partition("--editable ")[2] for line in checkout.lines("installs")] == [".[parallel]", ".[dev]"]


def test_two_commands_at_once_install_once(checkout: Checkout) -> None:
    """The second waits for the first one's installation and uses it."""
    (checkout.play / "slow").touch()
    script = checkout.project / "scripts" / "guard"
    commands = [subprocess.Popen([script], env=checkout.environment, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [command.wait() for command in commands] == [0, 0]
    assert len(checkout.lines("installs")) == 1
    assert len(checkout.lines("runs")) == 2


def test_nobody_installs_under_a_running_guard(checkout: Checkout) -> None:
    """A build that is in use is not replaced; the sentence says what is waited for."""
    checkout.run("guard")
    holder = subprocess.Popen(["flock", "--shared", checkout.project / "build" / "venv.lock", "cat"], stdin=-1)
    assert holder.stdin is not None
    (checkout.project / "pyproject.toml").write_text("# changed\n", encoding="utf-8")
    while subprocess.run(["flock", "--nonblock", checkout.project / "build" / "venv.lock", "true"]).returncode == 0:
        time.sleep(0.01)  # until the holder has started and holds it
    waiting = subprocess.Popen(
        [checkout.project / "scripts" / "guard"], env=checkout.environment, stderr=subprocess.PIPE, text=True
    )
    assert waiting.stderr is not None
    assert "waiting for another command" in waiting.stderr.readline()
    assert len(checkout.lines("installs")) == 1
    holder.stdin.close()
    assert holder.wait() == 0
    waiting.communicate()
    assert waiting.returncode == 0
    assert len(checkout.lines("installs")) == 2


def test_a_failed_installation_is_one_sentence_and_tried_again(checkout: Checkout) -> None:
    """No network: where the log is; a half-made environment is not taken for a good one."""
    (checkout.play / "no_network").touch()
    finished = checkout.run("guard")
    log = checkout.project / "build" / "venv-install.log"
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith("guard: installing pytest-kernelperf failed")
    assert str(log) in finished.stderr.splitlines()[-1]
    assert "no matching distribution" in log.read_text(encoding="utf-8")
    assert checkout.lines("runs") == []

    (checkout.play / "no_network").unlink()
    assert checkout.run("guard").returncode == 0
    assert len(checkout.lines("installs")) == 2


def test_a_missing_python_is_one_sentence(checkout: Checkout) -> None:
    """No Python at all, or only one that is too old."""
    (checkout.play / "too_old").touch()
    finished = checkout.run("test")
    assert finished.returncode == 1
    assert finished.stderr.startswith("test: no Python 3.10 or newer was found on PATH: install one")
    assert finished.stderr.count("\n") == 1


def test_a_python_without_its_venv_module_is_one_sentence(checkout: Checkout) -> None:
    """Debian packs it apart; the sentence names the package."""
    (checkout.play / "no_venv").touch()
    finished = checkout.run("test")
    assert finished.returncode == 1
    assert "apt install python3.12-venv" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_missing_compiler_is_one_sentence(checkout: Checkout) -> None:
    """The native parts are built on this machine, and so are the kernels of the cpu runtime."""
    (checkout.play / "bin" / "c++").unlink()
    finished = checkout.run("guard")
    assert finished.returncode == 1
    assert finished.stderr.startswith("guard: no C++ compiler was found on PATH")
    assert "apt install g++" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_benchmark_is_run_by_its_name(checkout: Checkout) -> None:
    """The name has hyphens, the file underscores; options are passed on."""
    assert checkout.run("bench", "cpu-runtime", "--json", "result.json").returncode == 0
    assert checkout.lines("runs") == ["benchmarks/cpu_runtime.py --json result.json"]


def test_a_benchmark_gets_what_it_compares_with(checkout: Checkout) -> None:
    """Requirements beside a benchmark are installed once, in a folder of their own."""
    (checkout.project / "benchmarks" / "cpu_runtime.txt").write_text("pandas\n", encoding="utf-8")
    for _ in range(2):
        assert checkout.run("bench", "cpu-runtime").returncode == 0
    installs = [line for line in checkout.lines("installs") if "--target" in line]
    assert ["build/cpu-runtime-beside --requirement benchmarks/cpu_runtime.txt" in line for line in installs] == [True]


@pytest.mark.parametrize("name", ["gpu-runtime", "../cpu-runtime", ""])
def test_an_unknown_benchmark_lists_the_known_ones(checkout: Checkout, name: str) -> None:
    """A typing mistake installs nothing and says what there is."""
    finished = checkout.run("bench", name)
    assert finished.returncode == 1
    assert finished.stderr.rstrip().endswith("cpu-runtime")
    assert checkout.lines("installs") == []
