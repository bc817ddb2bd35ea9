"""The installation script on a scratch root, and the units as systemd reads them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2] / ".github" / "runner"
if not KIT.is_dir():
    pytest.skip("the runner's programs (.github/runner) are not beside these tests", allow_module_level=True)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """What stands for GitHub's runner: an archive with its start script."""
    path = tmp_path / "actions-runner.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        entry = tarfile.TarInfo("./run.sh")
        entry.mode, text = 0o755, b"#!/bin/sh\n"
        entry.size = len(text)
        file.addfile(entry, io.BytesIO(text))
    return path


def install(archive: Path, *more: str, digest: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script."""
    digest = digest or hashlib.sha256(archive.read_bytes()).hexdigest()
    where = ["--repository", "owner/project", "--repository-id", "42", "--runner", str(archive), "--sha256", digest]
    return subprocess.run([KIT / "install.sh", *where, *more], capture_output=True, text=True, check=False)


def test_everything_lies_where_the_units_and_hooks_look_for_it(archive: Path, tmp_path: Path) -> None:
    """Program, hooks, units, runner, and settings that the gate takes."""
    root = tmp_path / "root"
    done = install(archive, "--root", str(root), "--approver", "one", "--approver", "two")
    assert done.returncode == 0, done.stderr
    program = root / "usr/local/lib/kernelperf-runner"
    for unit in (root / "etc/systemd/system").iterdir():
        for line in unit.read_text().splitlines():
            if "/usr/local/lib/kernelperf-runner/" in line:
                hook = root / line.rpartition("=")[2].lstrip("/")
                assert hook.stat().st_mode & 0o777 == 0o755
    assert (root / "opt/actions-runner/run.sh").stat().st_mode & 0o100
    rules = json.loads((root / "etc/kernelperf-runner/gate.json").read_text())
    assert (rules["repository"], rules["repository_id"], rules["approvers"]) == ("owner/project", 42, ["one", "two"])
    assert not (root / "etc/kernelperf-runner/token").exists()
    settings = str(root / "etc/kernelperf-runner/gate.json")
    hook_run = [sys.executable, "-I", "-B", str(program), "started", "--settings", settings, "--log-s", "0"]
    started = subprocess.run(hook_run, env={}, capture_output=True, text=True, check=False)
    assert started.returncode == 1
    assert "cannot be read" in started.stdout, "the installed program runs, and refuses where there is no payload"


def test_a_second_installation_keeps_the_settings(archive: Path, tmp_path: Path) -> None:
    """Root may have edited them."""
    root = str(tmp_path / "root")
    install(archive, "--root", root, "--approver", "one")
    done = install(archive, "--root", root, "--approver", "other")
    assert done.returncode == 0
    assert "is kept as it is" in done.stdout
    assert json.loads((tmp_path / "root/etc/kernelperf-runner/gate.json").read_text())["approvers"] == ["one"]


def test_a_dry_run_changes_nothing_and_says_everything(archive: Path, tmp_path: Path) -> None:
    """Accounts and services as well."""
    root = tmp_path / "root"
    done = install(archive, "--root", str(root), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert not root.exists()
    for word in ("useradd --system", "video,render", "systemctl enable", "install -m 0644", "gate.json"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("more", "digest", "why"),
    [
        (("--approver", "not a login"), "", "takes one login, not"),
        ((), "0" * 64, "has another SHA-256"),
        (("--approver",), "", "--approver needs a value"),
        (("--unknown", "x"), "", "there is no option '--unknown'"),
        (("--repository-id", "x"), "", "gh api repos/owner/project"),
        (("--repository", "x y"), "", "owner/name in repository"),
        (("--runner", "/nowhere.tar.gz"), "", "there is no file /nowhere.tar.gz"),
    ],
)
def test_a_wrong_argument_is_one_sentence(
    archive: Path, tmp_path: Path, more: tuple[str, ...], digest: str, why: str
) -> None:
    """And no half-made box that starts."""
    done = install(archive, "--root", str(tmp_path / "root"), *more, digest=digest)
    assert done.returncode == 1
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
class TestTheUnits:
    """As systemd reads them."""

    @pytest.mark.parametrize(
        ("unit", "most"), [("kernelperf-job.service", 2.5), ("kernelperf-supervisor.service", 3.0)]
    )
    def test_a_unit_is_valid_and_confined(self, unit: str, most: float) -> None:
        """No warning, and an exposure that does not grow unnoticed (10: everything is allowed)."""
        file = str(KIT / "systemd" / unit)
        verify = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
        assert (verify.returncode, verify.stderr) == (0, "")
        command = ["systemd-analyze", "security", "--offline=true", f"--threshold={int(most * 10)}", file]
        security = subprocess.run(command, capture_output=True, text=True, check=False)
        assert security.returncode == 0, security.stdout.splitlines()[-1]

    def test_the_job_reaches_the_gpu_and_no_secret(self) -> None:
        """Groups, devices, and what is kept from it."""
        text = (KIT / "systemd" / "kernelperf-job.service").read_text()
        for line in (
            "SupplementaryGroups=video render",
            "DevicePolicy=closed",
            "DeviceAllow=/dev/kfd rw",
            "NoNewPrivileges=yes",
            "CapabilityBoundingSet=",
            "InaccessiblePaths=-/etc/kernelperf-runner/token -/run/kernelperf-runner",
            # logind lets anybody linger: a manager of one's own, outside of the unit, for ever.
            "InaccessiblePaths=-/run/dbus -/run/user -/run/systemd/private",
            "RemoveIPC=yes",
        ):
            assert f"{line}\n" in text
