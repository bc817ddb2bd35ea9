"""A stand-in for AMD's rocprofv3, which no machine without an AMD GPU has: takes its options, runs the application for
real, and writes the rocpd file that rocprofv3 would have written of it. It misbehaves on request, as rocprofv3 has been
seen to in the wild.

``install(root)`` makes a ROCm installation around it: ``bin/rocprofv3``, ``lib/libamdhip64.so``, ``.info/version``.
With ``runtime`` the libraries can be opened: they are the cpu runtime's, so that the guard's whole way on an AMD GPU
can be gone without one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HELPERS = Path(__file__).resolve().parent
EMPTY = b""
OLD_RPD = ("CREATE TABLE rocpd_api (id INTEGER)", "CREATE TABLE rocpd_op (id INTEGER)")


def install(
    root: Path,
    misbehaviour: str = "",
    version: str = "7.2.0",
    launches: tuple[str, ...] = (),
    runtime: Path | None = None,
) -> Path:
    """Make an installation of a ROCm version; return its HIP library.

    ``launches``: the kernels of one round, where the application has no CASE.json that tells them. ``runtime``: the
    folder of the cpu runtime's libraries; without it the HIP library is a file that nobody opens.
    """
    for folder in ("bin", "lib", ".info"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / ".info" / "version").write_text(f"{version}-43\n")
    program = root / "bin" / "rocprofv3"
    program.write_text(f"#!{sys.executable} -S\n{Path(__file__).read_text()}")
    program.chmod(0o755)
    behaviour = {"misbehaviour": misbehaviour, "version": version, "launches": launches, "helpers": str(HELPERS)}
    (root / "behaviour.json").write_text(json.dumps(behaviour))
    library = root / "lib" / "libamdhip64.so"
    if runtime is None:
        library.write_bytes(EMPTY)
        return library
    library.symlink_to(runtime / "libamdhip64.so")
    source, target, real = HELPERS / "amd_hiprtc_on_cpu.c", root / "lib" / "libhiprtc.so", runtime / "libhiprtc.so"
    linked = ["-Wl,--no-as-needed", str(real), f"-Wl,-rpath,{runtime}", "-ldl"]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(target), str(source), *linked], check=True)
    return library


class Call:
    """One call of the profiler: what it is to do, and for whom."""

    def __init__(self, behaviour: dict[str, object], directory: Path, name: str, application: list[str]) -> None:
        self.bad = str(behaviour["misbehaviour"])
        self.launches = [str(one) for one in behaviour["launches"]]  # type: ignore[attr-defined]
        self.directory = directory
        self.name = name
        self.application = application
        self.pid = 0
        self.code = 0

    def run(self) -> None:
        """Run the application to its end."""
        process = subprocess.Popen(self.application)
        self.pid = process.pid
        self.code = process.wait()

    def path(self, ending: str = ".db", pid: int | None = None) -> Path:
        """Where a file goes: ``NAME_results.db`` with what the name holds in percent signs put in."""
        name = self.name.replace("%pid%", str(self.pid if pid is None else pid))
        self.directory.mkdir(parents=True, exist_ok=True)
        return self.directory / f"{name}_results{ending}"

    def dispatches(self) -> list[object]:
        """Five rounds of the plan's launches, as a device would have run them."""
        from rocpd_files import Dispatch

        names = self.launches or case_launches(self.application)
        rounds = int(self.application[-1]) if self.application[-1].isdecimal() else 5
        found, now_ns = [], time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        for number in range(rounds):
            for place, name in enumerate(names):
                length_ns = (3000 if number == 0 else 1000) + 500 * place
                found.append(Dispatch(name, now_ns, now_ns + length_ns, (2560, 1, 1), (256, 1, 1)))
                now_ns += length_ns + 2000
        return found

    def write(self, dispatches: list[object], path: Path | None = None, **more: object) -> Path:
        """Write the rocpd file of this process."""
        from rocpd_files import Process, write_rocpd

        target = self.path() if path is None else path
        pid = int(str(more.pop("pid", self.pid)))
        return write_rocpd(target, [Process(dispatches, pid=pid)], version="3.0.3", **more)  # type: ignore[arg-type]


def case_launches(application: list[str]) -> list[str]:
    """The kernels of one round, as the CASE.json of a replay has them for its arm."""
    (case_file,) = [Path(word) for word in application if word.endswith(".json")]
    arm = application[application.index(str(case_file)) + 1]
    arms = {one["name"]: one for one in json.loads(case_file.read_text())["arms"]}
    return [step["kernel"] for step in arms[arm]["plan"]["steps"] if step["type"] == "launch"]


# --- what rocprofv3 has been seen to do -------------------------------------------------------------------------------


def hangs_before(call: Call) -> None:
    """TheRock #1768: never starts the application."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def hangs_after(call: Call) -> None:
    """TheRock #1768, RS CHANGELOG: hangs while it generates its output."""
    call.run()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def crashes(call: Call) -> None:
    """FlyDSL #187: SIGSEGV in the tool."""
    call.run()
    os.kill(os.getpid(), signal.SIGSEGV)


def fatal_error(call: Call) -> None:
    """A missing library of the tool."""
    sys.exit("Fatal error: Failed to resolve path: /opt/rocm/lib/rocprofiler-sdk/librocprofiler-sdk-tool.so")


def traceback(call: Call) -> None:
    """ROCm #5606: missing rocpd bindings."""
    import rocpd_bindings_of_another_python  # type: ignore[import-not-found]  # noqa: F401


def runs_nothing(call: Call) -> None:
    """Ends well without having run the application."""


def fails_after(call: Call) -> None:
    """The application's exit code is another than zero although all was recorded."""
    call.run()
    call.write(call.dispatches())
    call.code = 9


def no_kernels(call: Call) -> None:
    """spack #49737, RS PR #8032: nothing recorded, so no file at all."""
    call.run()


def csv_instead(call: Call) -> None:
    """An old habit: CSV although rocpd was asked for."""
    call.run()
    call.path("_kernel_trace.csv").write_text('"Kind","Agent_Id"\n')


def empty_view(call: Call) -> None:
    """rocprofiler-sdk #58: a database without any kernel."""
    call.run()
    call.write([])


def only_the_runtimes(call: Call) -> None:
    """Only kernels of the runtime's own."""
    from rocpd_files import Dispatch

    call.run()
    call.write([Dispatch("__amd_rocclr_copyBuffer", 10**9 + 9000 * one, 10**9 + 9000 * one + 500) for one in range(4)])


def with_the_runtimes(call: Call) -> None:
    """roc-optiq #596: kernels of the runtime's own among the others, as uploads leave them. No misbehaviour."""
    from rocpd_files import Dispatch

    call.run()
    dispatches = call.dispatches()
    first_ns = dispatches[0].start_ns  # type: ignore[attr-defined]
    copies = [Dispatch("__amd_rocclr_copyBuffer", first_ns - 9000 * one, first_ns - 8000 * one) for one in (3, 2, 1)]
    call.write([*copies, *dispatches])


def loses_some(call: Call) -> None:
    """RS PR #4361: 35 to 74 % of the dispatches are lost."""
    call.run()
    call.write(call.dispatches()[::2])


def loses_a_kernel(call: Call) -> None:
    """rocprofiler-sdk #137: one kernel is missing altogether."""
    call.run()
    first = call.dispatches()[0].name  # type: ignore[attr-defined]
    call.write([one for one in call.dispatches() if one.name != first])  # type: ignore[attr-defined]


def records_twice(call: Call) -> None:
    """Each dispatch recorded twice, one after the other."""
    from rocpd_files import Dispatch

    call.run()
    twice = []
    for one in call.dispatches():
        name, start_ns, end_ns = one.name, one.start_ns, one.end_ns  # type: ignore[attr-defined]
        twice += [Dispatch(name, start_ns, end_ns), Dispatch(name, end_ns, end_ns + 100)]
    call.write(twice)


def other_kernels(call: Call) -> None:
    """A file of this process that holds another program's kernels."""
    from rocpd_files import Dispatch

    call.run()
    call.write(
        [Dispatch("Cijk_Alik_Bljk_SB_MT64x64", 10**9 + 9000 * one, 10**9 + 9000 * one + 500) for one in range(9)]
    )


def other_process(call: Call) -> None:
    """RS PR #7472: the file is another process's, which wrote last."""
    call.run()
    call.write(call.dispatches(), pid=call.pid + 70_000)


def several_files(call: Call) -> None:
    """A file for each of several processes, ours among them. No misbehaviour."""
    call.run()
    call.write(call.dispatches(), call.path(pid=1), pid=call.pid + 70_000)
    call.write(call.dispatches())


def in_a_subfolder(call: Call) -> None:
    """Newest versions write into ``pass_1``. No misbehaviour."""
    call.run()
    (call.directory / "pass_1").mkdir()
    call.write(call.dispatches(), call.directory / "pass_1" / f"replay_{call.pid}_results.db")


def too_big(call: Call) -> None:
    """Fills the disk."""
    call.run()
    with call.path().open("wb") as file:
        for _ in range(4096):
            file.write(b"\0" * 2**20)
            file.flush()


def too_many_files(call: Call) -> None:
    """Fills a folder."""
    call.run()
    for number in range(10_000):
        call.path(pid=number).touch()


def prints_for_ever(call: Call) -> None:
    """Logs without end."""
    while True:
        sys.stdout.write("W20260101 rocprofiler_sdk: unhandled record\n" * 1000)


def damaged(call: Call) -> None:
    """A file that was cut off while it was copied or written."""
    call.run()
    path = call.write(call.dispatches())
    path.write_bytes(path.read_bytes()[:-20_000])


def no_database(call: Call) -> None:
    """Something else under the name."""
    call.run()
    call.path().write_text("out of disk space\n")


def empty_file(call: Call) -> None:
    """Created and never written."""
    call.run()
    call.path().touch()


def old_layout(call: Call) -> None:
    """rocmProfileData's .rpd."""
    import sqlite3

    call.run()
    with sqlite3.connect(call.path()) as database:
        for statement in OLD_RPD:
            database.execute(statement)
    database.close()


def leaves_wal(call: Call) -> None:
    """Ended in the middle of a transaction: a write-ahead log lies beside the file."""
    call.run()
    path = call.write(call.dispatches())
    path.with_name(f"{path.name}-wal").write_bytes(b"\x37\x7f\x06\x82" + b"\0" * 100)


def a_pipe(call: Call) -> None:
    """No file at all: whoever opens it waits for ever."""
    call.run()
    os.mkfifo(call.path())


def a_link(call: Call) -> None:
    """A link to somebody else's file."""
    call.run()
    elsewhere = call.write(call.dispatches(), call.directory / "elsewhere")
    call.path().symlink_to(elsewhere)


def without_threads(call: Call) -> None:
    """RS PR #6756: rows that the view joins are missing, so that dispatches disappear from it."""
    call.run()
    dispatches = call.dispatches()
    table = f"rocpd_kernel_dispatch_0000ddb5_8903_7903_b269_{call.pid:012x}"
    call.write(dispatches, statements=[f'UPDATE "{table}" SET tid = 1 WHERE id > {len(dispatches) - 2}'])


def times_of_zero(call: Call) -> None:
    """RS #5811: all timestamps are zero."""
    from rocpd_files import Dispatch

    call.run()
    call.write([Dispatch(one.name, 0, 0) for one in call.dispatches()])  # type: ignore[attr-defined]


def intervals_that_overlap(call: Call) -> None:
    """RS PR #1568: some intervals end before they begin, or overlap."""
    from rocpd_files import Dispatch

    call.run()
    first, second, third, *rest = call.dispatches()
    backwards = Dispatch(second.name, second.end_ns, second.start_ns)  # type: ignore[attr-defined]
    early = Dispatch(third.name, third.start_ns, rest[0].start_ns + 500)  # type: ignore[attr-defined]
    call.write([first, backwards, early, *rest])


def mixes_clocks(call: Call) -> None:
    """RS PR #10359: some times are stale, here of another clock."""
    from rocpd_files import Dispatch

    call.run()
    dispatches = call.dispatches()
    late_ns = 2**62
    late = [Dispatch(one.name, late_ns + one.start_ns % 10**9, late_ns + one.end_ns % 10**9) for one in dispatches[5:]]
    call.write([*dispatches[:5], *late])


def thousands_of_kernels(call: Call) -> None:
    """Another library of the process launches kernels of its own, each once."""
    from rocpd_files import Dispatch

    call.run()
    others = [Dispatch(f"k{number}", 10**6 + number, 10**6 + number + 1) for number in range(1500)]
    call.write([*others, *call.dispatches()])


def leaves_a_daemon(call: Call) -> None:
    """Leaves a process behind that has left its session, with a child of its own."""
    call.run()
    call.write(call.dispatches())
    named = call.directory / "sleep"  # so that whoever looks for it knows whose it is
    named.symlink_to("/bin/sleep")
    subprocess.Popen(["/bin/sh", "-c", f"{named} 611 & {named} 611"], start_new_session=True)


def stops_itself(call: Call) -> None:
    """Stopped, as by a debugger or a terminal that it may not read."""
    os.kill(os.getpid(), signal.SIGSTOP)


def stops_the_watch(call: Call) -> None:
    """Stops what watches over it."""
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(600)


def a_hole_of_10_gb(call: Call) -> None:
    """A file of 10 GB that takes no room."""
    call.run()
    with call.path().open("wb") as file:
        file.truncate(10 * 10**9)


def removes_its_folder(call: Call) -> None:
    """Clears up more than its own."""
    import shutil

    call.run()
    shutil.rmtree(call.directory.parent)


def writes_late(call: Call) -> None:
    """Its file is written by a process that it does not wait for."""
    call.run()
    if os.fork() == 0:
        os.setsid()
        time.sleep(30)
        call.write(call.dispatches())
        os._exit(0)


def forks_for_ever(call: Call) -> None:
    """Each of its processes starts another one and ends."""
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()


def another_layout(call: Call) -> None:
    """A version to come, whose view has other columns."""
    call.run()
    view = "CREATE VIEW kernels AS SELECT 'k' AS kernel_name, 1 AS start_ns, 2 AS end_ns"
    call.write(call.dispatches(), statements=["DROP VIEW kernels", view])


def changes_folder(call: Call) -> None:
    """Runs the application, and itself, somewhere else. No misbehaviour."""
    os.chdir("/")
    call.run()
    call.write(call.dispatches())


def logs_a_lot(call: Call) -> None:
    """Hundreds of megabytes of warnings, before and after the application. No misbehaviour."""
    line = b"W20260101 rocprofiler_sdk: unhandled record " + b"." * 2000 + b"\n"
    for _ in range(200):
        sys.stdout.buffer.write(line * 500)
    sys.stdout.flush()
    call.run()
    for _ in range(200):
        sys.stdout.buffer.write(line * 500)
    call.write(call.dispatches())


def good(call: Call) -> None:
    """What it should do."""
    call.run()
    call.write(call.dispatches())


VERSIONS = {
    "no_version": "usage: rocprofv3 [-h]\nrocprofv3: error: unrecognized arguments: --version",
    "version_unsaid": "version: 1.1.0\ngit_revision: 1b1610f\n",
    "version_garbage": "\x1b[31m??\n",
}


def print_version(behaviour: dict[str, object]) -> None:
    """What ``--version`` prints since ROCm 7.0."""
    bad = str(behaviour["misbehaviour"])
    if bad == "version_hangs":
        time.sleep(600)
    if bad == "version_fails":
        sys.exit("Fatal error: Failed to resolve path")
    sys.stdout.write(VERSIONS.get(bad, f"version: 1.1.0\nsystem_name: Linux\nrocm_version: {behaviour['version']}\n"))
    sys.exit(2 if bad == "no_version" else 0)


def main(root: Path) -> int:
    """Do what the command line asks for, as behaviour.json would have it."""
    behaviour = json.loads((root / "behaviour.json").read_text())
    sys.path.insert(0, str(behaviour["helpers"]))
    parser = argparse.ArgumentParser(prog="rocprofv3")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--kernel-trace", action="store_true")
    parser.add_argument("--output-format", choices=["rocpd", "csv"])
    parser.add_argument("-d", dest="directory", type=Path)
    parser.add_argument("-o", dest="name")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    if options.version:
        print_version(behaviour)
    if not options.kernel_trace or options.output_format != "rocpd" or not words[split + 1 :]:
        parser.error("this stand-in records kernels as rocpd, and needs an application behind --")
    if any(name.startswith("ROCPROF_") for name in os.environ):
        parser.error("another profiler's settings were passed on")
    call = Call(behaviour, options.directory, options.name, words[split + 1 :])
    globals()[call.bad or "good"](call)
    return call.code


if __name__ == "__main__" and Path(__file__).name == "rocprofv3":
    sys.exit(main(Path(__file__).resolve().parent.parent))
