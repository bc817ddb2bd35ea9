"""Findings about runtime and device: who answers, versions, compute units, bandwidth, caches, compiler."""

from __future__ import annotations

from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import Finding, left_out, ok, problem, warning
from pytest_kernelperf.machine import KNOWN_PEAKS, Gpu, Machine
from pytest_kernelperf.units import format_gb_per_s

NOT_OPENED = "no device was opened"
NO_RUNTIME = "no device could be opened"
MOST_OTHERS = 3

INSTALL_NVRTC = "pip install nvidia-cuda-nvrtc (drivers of CUDA 12: nvidia-cuda-nvrtc-cu12), or set KERNELPERF_NVRTC"
INSTALL_COMPILER = "apt install g++ (Fedora: dnf install gcc-c++), or set KERNELPERF_CXX to a working C++ compiler"


def why_left_out(found: Examination) -> str:
    """Why a live probe was not done."""
    return NO_RUNTIME if found.requested else NOT_OPENED


def find_runtime(found: Examination) -> Finding:
    """Which runtime, and which files answer for it."""
    if "runtime" in found.problems:
        step = "" if found.requested == "cpu" else "kernelperf doctor --runtime=cpu tries the one that needs no GPU"
        return problem("runtime", found.problems["runtime"], step or "repair what the sentence names, then look again")
    if found.facts is None:
        return left_out("runtime", f"{NOT_OPENED}: name one (--runtime=cpu) to probe what is here beside the files")
    if found.answering is None:
        said = found.problems.get("answering", "nobody says which file answers")
        return problem("runtime", said, "let only the guard's worker open HIP: unset LD_PRELOAD")
    compiler = "" if found.answering.hiprtc == found.answering.hip else f", hiprtc by {found.answering.hiprtc}"
    here = (
        f"of this machine, which is not the one below {found.machine.root}, and is what was probed; "
        if found.machine and found.written_out
        else ""
    )
    return ok("runtime", f"{found.facts.runtime}, {here}answered by {found.answering.hip}{compiler}")


def find_versions(found: Examination) -> Finding:
    """Versions that decide what can be called and how fast kernels are."""
    ours = f"pytest-kernelperf {found.package}, Python {found.python}"
    kernel = f"Linux {found.machine.kernel}" if found.machine and found.machine.kernel else ""
    kernel += " (as written out)" if kernel and found.written_out else ""
    if found.facts is None:
        parts = [ours, kernel]
    else:
        facts = found.facts
        # On the cpu runtime the driver is the kernel; a written-out tree's kernel is another machine's.
        driver = f"driver {facts.driver}" if facts.driver and facts.driver != kernel else ""
        parts = [ours, f"hip-python {facts.hip_python_version}", f"HIP {facts.hip_version}", driver, kernel]
    return ok("versions", ", ".join(part for part in parts if part))


def find_device(found: Examination) -> Finding:
    """Which device, under which key its baselines are kept."""
    gpu, facts, machine = found.gpu, found.facts, found.machine
    if facts is not None and not found.written_out:
        return ok("device", f"{facts.name}, {facts.architecture}; baselines in {facts.key}/{_others(machine, gpu)}")
    if machine is None:
        return problem(
            "device",
            found.problems.get("machine", why_left_out(found)),
            "look at the kernel's log (dmesg): a driver may hang",
        )
    others = _others(machine, gpu)
    if gpu is not None and gpu.compute_units:
        where = f"{gpu.name} at {gpu.place or 'an unknown place'}; baselines in {gpu.key}/"
        return ok("device", f"{where}{_memory(gpu)}{others}")
    if gpu is not None:
        return problem(
            "device",
            f"{gpu.name} at {gpu.place or 'an unknown place'} is here, but its compute driver (KFD) lists no GPU",
            "load amdgpu with KFD (modprobe amdgpu; its errors are in dmesg), and let this user read it: groups render "
            "and video; in a container mount /sys and /dev/kfd",
        )
    if found.written_out:
        return problem(
            "device", f"no GPU is described below {machine.root}", "give the folder that holds sys/ and proc/"
        )
    return left_out("device", why_left_out(found))


def _others(machine: Machine | None, gpu: Gpu | None) -> str:
    """Which GPUs are here beside the one that is described."""
    rest = [each for each in machine.gpus if each != gpu] if machine is not None else []
    named = [
        f"{each.name} at {each.place or 'an unknown place'}"
        + (f" ({each.compute_units} compute units)" if each.compute_units else "")
        for each in rest[:MOST_OTHERS]
    ]
    more = f" and {len(rest) - MOST_OTHERS} more" if len(rest) > MOST_OTHERS else ""
    return f"; also here: {', '.join(named)}{more}" if named else ""


def _memory(gpu: Gpu) -> str:
    """``; 512 MB of memory of its own, 118 GB of the host's``."""
    own, hosts = (gpu.state.vram_bytes, gpu.state.gtt_bytes) if gpu.state else (None, None)
    parts = [f"{_size(own)} of memory of its own"] if own else []
    parts += [f"{_size(hosts)} of the host's"] if hosts else []
    return f"; {', '.join(parts)}" if parts else ""


def find_compute_units(found: Examination) -> Finding:
    """What starvation is judged by, beside what HIP says."""
    gpu, facts = found.gpu, found.facts
    if facts is not None and not found.written_out:
        units, by_hip, source = facts.compute_units, facts.hip_compute_units, facts.compute_units_source
        if facts.runtime == "rocm" and not source.startswith("KFD"):
            return warning(
                "compute units",
                f"{units} by {source}; HIP counts {by_hip}",
                "let this user read /sys/class/kfd (in a container: mount /sys), or set kernelperf_target",
            )
    elif gpu is not None and gpu.compute_units:
        units, by_hip, source = gpu.compute_units, gpu.hip_compute_units or 0, gpu.compute_units_source
    else:
        return left_out("compute units", "no device is described")
    halves = ": it counts work-group processors, two compute units each" if by_hip * 2 == units else ""
    counted = "HIP would count" if found.written_out else "HIP counts"
    return ok("compute units", f"{units} ({source}); {counted} {by_hip}{halves}")


def find_bandwidth(found: Examination) -> Finding:
    """The peak that shares in the table are shares of."""
    gpu, facts = found.gpu, found.facts
    peak = gpu.peak_gb_per_s if found.written_out and gpu else facts.peak_gb_per_s if facts else None
    if peak is None:
        return left_out("bandwidth", "the peak is not known: the table shows GB/s without a share")
    architecture = gpu.architecture if found.written_out and gpu else facts.architecture if facts else ""
    known, memory = KNOWN_PEAKS.get(architecture, (None, ""))
    source = f"{memory}, by {architecture}'s specification" if known == peak else "by the memory's clock and width"
    return ok("bandwidth", f"{format_gb_per_s(peak)} GB/s at most, {source}")


def find_caches(found: Examination) -> Finding:
    """Caches, which flatter bandwidth while a case fits them."""
    source = found.gpu if found.written_out else found.facts
    if source is None:
        return left_out("caches", "no device is described")
    last = source.last_level_bytes
    parts = [f"L2 {_size(source.l2_bytes)}"] if source.l2_bytes else []
    if last and last != source.l2_bytes:
        amd = source.architecture.startswith("gfx")
        parts.append(f"last level {_size(last)}" + (" (MALL, AMD's Infinity Cache)" if amd else ""))
    if not parts:
        return left_out("caches", "their sizes are not known for this device")
    return ok("caches", f"{', '.join(parts)}: smaller cases run from cache")


def find_compiler(found: Examination) -> Finding:
    """Whether kernels can be compiled."""
    facts = found.facts
    if facts is None:
        return left_out("compiler", why_left_out(found))
    if "compile" not in found.problems:
        return ok("compiler", (facts.compiler or "it compiles, and does not say what it is") + _for_host_code(found))
    if facts.runtime == "cpu":
        return problem("compiler", found.problems["compile"], INSTALL_COMPILER)
    step = INSTALL_NVRTC if facts.runtime == "cuda" else "install hiprtc of the same ROCm as HIP"
    return problem("compiler", found.problems["compile"], f"{step}, then look again")


def _for_host_code(found: Examination) -> str:
    """What compiles files with host code in them, which not every project has."""
    runtimes = found.machine.runtimes if found.machine else ()
    for runtime in runtimes:
        if found.facts is not None and runtime.name == found.facts.runtime:
            says = runtime.host_code_compiler or runtime.host_code_problem
            return f"; files with host code: {says}" if says else ""
    return ""


def _size(size_bytes: int) -> str:
    """``32 MB`` as data sheets have it: 1024 times 1024 bytes."""
    if size_bytes >= 1 << 30:
        return f"{size_bytes / (1 << 30):.3g} GB"
    return f"{size_bytes >> 20} MB" if size_bytes >= 1 << 20 else f"{size_bytes >> 10} KB"
