"""A repository whose workflows run for real, under act, on this machine: no GitHub, no network, no containers.

The workflows, action.yml and scripts/action are this project's own files, unchanged. Two actions of GitHub's are played
by folders of our own (uploading an artifact copies it, setting up Python does nothing); act checks out by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TOKEN = "token-of-the-job"
OWNER, NAME, NUMBER = "owner", "kernels", 5
STRANGER = {"id": 4711, "full_name": "stranger/kernels", "fork": True, "owner": {"login": "stranger"}}

SOURCE = """
extern "C" __global__ void scale(int n, float factor, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0.0f;
    for (int turn = 0; turn < TURNS; ++turn) value = factor * (x[i] + 0.0f * value);
    if (i < n) y[i] = value;
}

extern "C" __global__ void shift(int n, float offset, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + offset;
}
"""

TEST = """
import numpy as np
import pytest
from pytest_kernelperf import Kernel, Launch

kernel = Kernel("scale", source="scale.hip", tokens=(64,))


@kernel.inputs
def inputs(tokens):
    return {"x": np.arange(64 * tokens, dtype=np.float32), "y": np.zeros(64 * tokens, np.float32)}


@kernel.reference
def reference(tokens, x):
    return {"y": (np.float32(3) * x).astype(np.float32)}


@kernel.variant(moved_bytes=lambda tokens: 512 * tokens)
def scaled(tokens, device):
    return [Launch("scale", grid=tokens, block=64, args=[np.int32(64 * tokens), np.float32(3), "x", "y"])]


@pytest.mark.kernelperf(kernel)
def test_scale(kernelperf):
    kernelperf.check()
"""

FILES = {
    "kernels/scale.hip": SOURCE.replace("TURNS", "1"),
    "kernels/test_scale.py": TEST,
    "pytest.ini": "[pytest]\nkernelperf_target = test:2\nkernelperf_processes = 3\n",
}

SLOWED = {"kernels/scale.hip": SOURCE.replace("TURNS", "4")}
"""What makes the kernel slower, its results the same."""

WRONG = {"kernels/scale.hip": SOURCE.replace("TURNS", "1").replace("y[i] = value", "y[i] = value + 1.0f")}


def act() -> str | None:
    """Where act is, beside this Python or on the path."""
    return shutil.which("act", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def clock(**us: float) -> str:
    """A clock's script: microseconds a round by arm; 10 for all others."""
    rules: list[dict[str, Any]] = [
        {"match": {"arm": arm}, "us": time_us, "noise_ratio": 0.001} for arm, time_us in us.items()
    ]
    return json.dumps({"version": 1, "rules": [*rules, {"match": {}, "us": 10.0, "noise_ratio": 0.001}]})


@dataclass(frozen=True)
class Finished:
    """A workflow's run: how each job ended (missing: it was skipped), all that was printed, its artifacts."""

    jobs: dict[str, str]
    text: str
    artifacts: Path

    def run_file(self, artifact: str = "kernelperf") -> dict[str, Any]:
        """The run file in an artifact."""
        found: dict[str, Any] = json.loads((self.artifacts / artifact / "run.json").read_text())
        return found

    def verdicts(self, artifact: str = "kernelperf") -> dict[str, str]:
        """Variant -> verdict."""
        return {found["case"]["variant"]: found["decision"]["verdict"] for found in self.run_file(artifact)["records"]}


@dataclass
class Repository:
    """The repository ``owner/kernels``, and runs of its workflows.

    ``api``: where GitHub's API is; nowhere, if left out. ``scripted``: times come from a script.
    """

    folder: Path
    api: str = "http://127.0.0.1:9"
    scripted: bool = True
    runs: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.origin = self.folder / "origin"
        self.shims = _write_shims(self.folder / "shims")
        if self.origin.exists():
            return  # a copy of another one's
        self.origin.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        for name in (".github", "action.yml", "scripts/action"):
            source, target = ROOT / name, self.origin / name
            target.parent.mkdir(exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
        self.commit(FILES, "Kernels")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """Run git, as nobody in particular."""
        who = ("-c", "user.name=proof", "-c", "user.email=proof@localhost", "-c", "core.hooksPath=/dev/null")
        command = ["git", *who, "-C", str(folder or self.origin), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files: dict[str, str], message: str, branch: str = "main", start: str = "") -> str:
        """Write files and commit them on a branch, which begins at ``start`` if it is new; return the SHA."""
        if self.git("branch", "--list", branch):
            self.git("checkout", "--quiet", branch)
        elif self.git("branch", "--list"):
            self.git("checkout", "--quiet", "-b", branch, start or "main")
        for name, text in files.items():
            path = self.origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def store_baselines(self, reason: str = "first", times: str = "", branch: str = "main") -> str:
        """Measure what a branch has, as somebody does at home, and commit its baselines there."""
        self.git("checkout", "--quiet", branch)
        command = [sys.executable, "-m", "pytest", *_plugin(), "--kernelperf", "--kernelperf-runtime=cpu", "kernels"]
        command += [f"--update-baselines={reason}", "-q", "-p", "no:cacheprovider"]
        variables = {**self._variables(times or clock()), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=self.origin, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        shutil.rmtree(self.origin / ".kernelperf")
        return self.commit({}, "Baselines", branch)

    def payload(self, number: int, head: str, branch: str, action: str = "synchronize", **more: Any) -> dict[str, Any]:
        """The payload of a pull request's event, as GitHub has it, cut to what anybody reads of it."""
        own: dict[str, Any] = {"id": NUMBER, "full_name": f"{OWNER}/{NAME}", "name": NAME, "default_branch": "main"}
        own["owner"] = {"login": OWNER}
        base = more.get("base", "main")
        pull = {
            "number": number, "state": "open", "labels": more.get("labels", []),
            "head": {"sha": head, "ref": branch, "repo": more.get("head_repo", own)},
            "base": {"ref": base, "sha": self.git("rev-parse", base), "repo": own},
        }  # fmt: skip
        payload = {"action": action, "number": number, "pull_request": pull, "repository": own,
                   "sender": {"login": more.get("sender", "maintainer"), "type": "User"}}  # fmt: skip
        return payload | ({"label": more["label"]} if "label" in more else {})

    def checkout(self, commit: str, onto: str = "") -> Path:
        """A fresh clone at a commit, or at its merge into ``onto``, as GitHub makes it for a pull request."""
        self.runs += 1
        clone = self.folder / f"run-{self.runs}"
        self.git("clone", "--quiet", str(self.origin), str(clone), folder=self.folder)
        self.git("checkout", "--quiet", "--detach", self.git("rev-parse", onto or commit), folder=clone)
        if onto:
            self.git("merge", "--quiet", "--no-ff", "-m", f"Merge {commit}", commit, folder=clone)
        # act takes the repository's name from here; nothing is fetched any more.
        self.git("remote", "set-url", "origin", f"https://github.com/{OWNER}/{NAME}.git", folder=clone)
        return clone

    def run(
        self,
        event: str,
        payload: dict[str, Any],
        clone: Path,
        workflow: str = "kernelperf.yml",
        times: str = "",
        **more: str,
    ) -> Finished:
        """Run a workflow under act, to its end.

        ``times``: the clock's script; ``more``: further variables of the runner.
        """
        artifacts = self.folder / f"artifacts-{self.runs}"
        artifacts.mkdir(exist_ok=True)
        event_file = self.folder / f"event-{self.runs}.json"
        event_file.write_text(json.dumps(payload))
        # act loses the last lines of a step that ends at once, so each step's shell writes into a file instead.
        log = self.folder / f"log-{self.runs}.txt"
        (self.folder / "log.sh").write_text('exec >>"$SHIM_LOG" 2>&1\n')
        ours = {"SHIM_ARTIFACTS": str(artifacts), "SHIM_LOG": str(log), "BASH_ENV": str(self.folder / "log.sh")}
        variables = self._variables(times) | ours | {"GITHUB_API_URL": self.api, **more}
        passed = {name: value for name, value in variables.items() if name not in ("PATH", "HOME")}
        command = [
            str(act()), event, "--json", "--no-cache-server", "--eventpath", str(event_file),
            "--secret", f"GITHUB_TOKEN={TOKEN}", "--workflows", str(clone / ".github" / "workflows" / workflow),
            "--platform", "ubuntu-24.04=-self-hosted", "--platform", "self-hosted=-self-hosted",
            *(f"--local-repository={action}={folder}" for action, folder in self.shims.items()),
            *(f"--var={name}={sys.executable}" for name in ("KERNELPERF_PYTHON", "KERNELPERF_HOSTED_PYTHON")),
            *(f"--env={name}={value}" for name, value in passed.items()),
        ]  # fmt: skip
        # act keeps copies of the trees in its cache: of this test, not of whoever runs it.
        home = {**variables, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        done = subprocess.run(command, cwd=clone, env=home, capture_output=True, text=True, check=False, timeout=600)
        jobs: dict[str, str] = {}
        lines = []
        for line in done.stdout.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            lines.append(str(entry.get("msg", "")).rstrip())
            if "jobResult" in entry:
                jobs[str(entry["jobID"])] = str(entry["jobResult"])
        said = log.read_text(errors="replace") if log.exists() else ""
        return Finished(jobs, "\n".join([*lines, done.stderr, said]), artifacts)

    def _variables(self, times: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH", "LANG") if name in os.environ}
        ours = {"KERNELPERF_LOCK": str(self.folder / "machine.lock"), **self.environment}
        if self.scripted:
            script = self.folder / f"clock-{self.runs}.json"
            script.write_text(times or clock())
            ours["KERNELPERF_CLOCK_SCRIPT"] = str(script)
        return kept | ours


def _plugin() -> tuple[str, ...]:
    from pytest_kernelperf.pytest_process import plugin_arguments

    return plugin_arguments()


def _write_shims(folder: Path) -> dict[str, Path]:
    """Folders that stand for GitHub's own actions, by the very commits that our workflows name."""
    text = "".join(path.read_text() for path in sorted((ROOT / ".github/workflows").glob("*.yml")))
    text += (ROOT / "action.yml").read_text()
    copy = (
        'FROM=${FROM%%$\'\\n\'*} && mkdir -p "$TO" && cp -r "${FROM:?no path is given}/." "$TO/" '
        '&& find "$TO" \\( -name "*.data" -o -name case.json -o -name ".?*" \\) -delete'
    )
    bodies = {
        "upload-artifact": ("FROM: ${{ inputs.path }}", "TO: ${{ env.SHIM_ARTIFACTS }}/${{ inputs.name }}", copy),
        "download-artifact": ("FROM: ${{ env.SHIM_ARTIFACTS }}/${{ inputs.name }}", "TO: ${{ inputs.path }}", copy),
        "setup-python": ("FROM: none", "TO: none", "true"),
    }
    shims = {}
    for action in sorted(set(re.findall(r"actions/[a-z-]+@[0-9a-f]{40}", text))):
        name = action.partition("@")[0].partition("/")[2]
        if name not in bodies:
            continue  # checkout: act's own
        source, target, command = bodies[name]
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        names = ("name", "path", "if-no-files-found", "retention-days", "python-version")
        inputs = "".join(f"  {name}: {{default: ''}}\n" for name in names)
        steps = f"    - shell: bash\n      env:\n        {source}\n        {target}\n      run: {command}\n"
        (place / "action.yml").write_text(
            f"name: {name}\ninputs:\n{inputs}runs:\n  using: composite\n  steps:\n{steps}"
        )
        shims[action] = place
    return shims
