"""What ``.ci/run`` installs on a new machine: AMD's compilers, by apt, as root or through sudo.

apt-get, dpkg-query, sudo and id are played by small programs that write down how they were called.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
PACKAGES = ["clang-19", "clang-tools-19", "lld-19", "libamdhip64-5", "libhiprtc-builtins5"]


def install(folder: Path, *, user: int = 0, installed: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> str:
    """Run the script's function on a machine of ours; what it printed. Calls of apt-get are in ``calls``."""
    function = re.search(r"^install_optional_tools\(\) \{.*?^\}$", SCRIPT.read_text(), re.MULTILINE | re.DOTALL)
    assert function is not None
    programs = {
        "id": f"echo {user}",
        "dpkg-query": f'case " {" ".join(installed)} " in *" ${{@: -1}} "*) printf installed ;; *) exit 1 ;; esac',
        "sudo": 'echo sudo >>"$PLAY/calls"; shift; exec "$@"',
        "apt-get": 'echo "apt-get $*" >>"$PLAY/calls"',
    }
    tools = folder / "bin"
    tools.mkdir()
    for name, body in programs.items():
        if name not in without:
            (tools / name).write_text(f"#!/bin/bash\n{body}\n")
            (tools / name).chmod(0o755)
    for name in ("env", "true", "bash"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    heading = f'set -euo pipefail; scratch={folder}; heading() {{ echo "--- $*"; }}'
    program = f"{heading}\n{function[0]}\ninstall_optional_tools {' '.join(PACKAGES)}"
    environment = {"PATH": str(tools), "PLAY": str(folder)}
    done = subprocess.run(["/bin/bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_asks_for_these_packages() -> None:
    """Before any piece runs."""
    assert f"\ninstall_optional_tools {' '.join(PACKAGES)}\n" in SCRIPT.read_text()


def calls(folder: Path) -> list[str]:
    """What was called."""
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


pytestmark = pytest.mark.skipif(
    not SCRIPT.exists() or not os.access("/bin/bash", os.X_OK), reason=".ci/run or bash is not here"
)


def test_a_new_machines_root_gets_each_package(tmp_path: Path) -> None:
    """Each by itself, so that one that a distribution lacks does not keep the others away."""
    assert "--- installing " + " ".join(PACKAGES) in install(tmp_path)
    assert [call.split()[-1] for call in calls(tmp_path)[1:]] == PACKAGES


def test_who_may_use_sudo_gets_them_too(tmp_path: Path) -> None:
    """Hosted runners are no root, and ask for no password."""
    install(tmp_path, user=1000, installed=("clang-19",))
    assert "sudo" in calls(tmp_path)
    assert [call.split()[-1] for call in calls(tmp_path) if "apt-get install" in call] == PACKAGES[1:]


@pytest.mark.parametrize("without", [("apt-get",), ("sudo",)])
def test_who_may_not_is_told_what_is_missing(tmp_path: Path, without: tuple[str, ...]) -> None:
    """The run goes on; the tests that need them skip, each with its package."""
    said = install(tmp_path, user=1000, without=without)
    assert said == f"not installed, since apt-get or the right to use it is missing: {' '.join(PACKAGES)}\n"
    assert not any("apt-get" in call for call in calls(tmp_path))


def test_a_machine_that_has_them_is_left_alone(tmp_path: Path) -> None:
    """Nothing is asked of apt, and nothing said."""
    assert install(tmp_path, installed=tuple(PACKAGES)) == ""
    assert not calls(tmp_path)
