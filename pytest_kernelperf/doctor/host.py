"""Findings about the machine around the device: others at work, clocks and power, settings, what is missing."""

from __future__ import annotations

from pytest_kernelperf.doctor.device import INSTALL_COMPILER, INSTALL_NVRTC, why_left_out
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import Finding, left_out, ok, problem, warning
from pytest_kernelperf.machine import GpuState, GpuUser, Runtime
from pytest_kernelperf.units import format_number

HOT_C = 95.0
"""Where integrated GPUs throttle (85 to 91 °C are usual under load on gfx1151, 100 °C is the limit)."""

SLOW_LEVELS = {"low", "profile_min_sclk", "profile_min_mclk"}

INSTALL = {
    "rocm": "install ROCm 6.4 or newer from AMD's repository (apt install hip-runtime-amd), or set ROCM_PATH",
    "cuda": "install the NVIDIA driver, then NVRTC: pip install nvidia-cuda-nvrtc",
    "cpu": INSTALL_COMPILER,
}

MOST_NAMED = 8


def find_others(found: Examination) -> Finding:
    """Who else works on the device, or has it open."""
    if found.written_out and found.machine is not None:
        if found.machine.users is None:
            return left_out("others", "who has the compute driver open is not in the files (/sys/class/kfd/kfd/proc)")
        place = found.gpu.place if found.gpu else ""
        elsewhere = [user for user in found.machine.users if user.places and place and place not in user.places]
        named = [_user(user) for user in found.machine.users if user not in elsewhere]
        others = f"; on other GPUs {_list([_user(user) for user in elsewhere])}" if elsewhere else ""
        if not named:
            return ok("others", f"nobody has the GPU's compute driver open{others}")
        return warning(
            "others",
            f"the GPU's compute driver is open in {_list(named)}; whether they work cannot be told from files{others}",
            "measure when they are idle: an open context alone does no harm",
        )
    activity = found.activity
    if activity is None:
        said = found.problems.get("activity")
        step = "let this user read /proc; in a container, run it in the host's process namespace"
        return problem("others", said, step) if said else left_out("others", why_left_out(found))
    who = "others" if found.facts is None or found.facts.runtime == "cpu" else "others that have the GPU open"
    cores = f"{who} kept {format_number(activity.foreign_cores)} cores busy for {activity.window_s:.1f} s"
    stolen = f"; the hypervisor took {format_number(activity.steal_cores)}" if activity.steal_cores >= 0.05 else ""
    opened = f"; the GPU is open in {_list(list(activity.users))}" if activity.users else ""
    if activity.contended_by:
        return warning(
            "others",
            f"{cores}, most of all {activity.contended_by}{stolen}{opened}",
            "stop them or wait: measured beside them, cases become invalid",
        )
    return ok("others", f"nobody is in the way: {cores}{stolen}{opened}")


def find_clocks(found: Examination) -> Finding:
    """Clock, power, temperature and policy, read before the device was opened."""
    gpu, machine = found.gpu, found.machine
    if gpu is None or gpu.state is None:
        if gpu is None and machine is not None and machine.governor:
            return ok("clocks", f"the CPU's clock policy is {machine.governor}")
        return left_out("clocks", "no clocks, power or temperature can be read here")
    state = gpu.state
    when = "as written out" if found.written_out else "before the device was opened"
    says = ", ".join(_readings(state)) + f" ({when}; {state.source})" if _readings(state) else "nothing can be read"
    path = f"/sys/class/drm/{state.source}/device/power_dpm_force_performance_level"
    steps = [f"echo auto | sudo tee {path}"] if state.performance_level in SLOW_LEVELS else []
    if state.throttled_by:
        steps.append("let it cool, raise the limit, or measure all arms under it: they share it")
    elif state.temperature_c is not None and state.temperature_c >= HOT_C:
        steps.append("let it cool, or cap the clock: hot GPUs throttle without saying so")
    if steps:
        return warning("clocks", says, "; ".join(steps))
    return ok("clocks", says) if _readings(state) else left_out("clocks", says)


def find_settings(found: Examination) -> Finding:
    """Environment variables that change which device answers or what it is taken for."""
    if found.written_out or found.machine is None:
        return left_out("settings", "the environment is not in the files")
    variables = found.machine.environment
    if not variables:
        return ok("settings", "no environment variable changes which device answers or how launches work")
    override = next((text for text in variables if text.startswith("HSA_OVERRIDE_GFX_VERSION=")), "")
    if override:
        return warning(
            "settings",
            f"{', '.join(variables)}: the GPU is taken for another, which has crashed kernels and machines",
            "unset HSA_OVERRIDE_GFX_VERSION and use a ROCm that knows the GPU",
        )
    return ok("settings", ", ".join(variables))


def find_missing(found: Examination) -> Finding:
    """Hardware that is here without the runtime that would use it."""
    machine, facts = found.machine, found.facts
    if machine is None or not machine.runtimes:
        return left_out("missing", "which runtimes are installed is not in the files")
    vendors = {gpu.vendor for gpu in machine.gpus}
    wanted = {"rocm": "AMD" in vendors, "cuda": "NVIDIA" in vendors, "cpu": True}
    lacking = [each for each in machine.runtimes if each.problem and wanted[each.name]]
    if lacking:
        return warning(
            "missing",
            "; ".join(each.problem for each in lacking),
            "; ".join(_install(each) for each in lacking),
        )
    if facts is not None and facts.runtime == "cpu" and vendors:
        names = ", ".join(gpu.name for gpu in machine.gpus)
        return warning("missing", f"{names} is here, but the cpu runtime was used", "kernelperf doctor --runtime=auto")
    return ok("missing", "nothing" if vendors else "nothing: there is no GPU here that rocm or cuda would need")


def _readings(state: GpuState) -> list[str]:
    clock = f"{state.clock_mhz:,.0f} MHz" if state.clock_mhz is not None else ""
    most = f" of {state.most_clock_mhz:,.0f}" if clock and state.most_clock_mhz else ""
    memory = f"memory {state.memory_clock_mhz:,.0f} MHz" if state.memory_clock_mhz is not None else ""
    memory += f" of {state.most_memory_clock_mhz:,.0f}" if memory and state.most_memory_clock_mhz else ""
    power = f"{format_number(state.power_w)} W" if state.power_w is not None else ""
    limit = f"power limit {format_number(state.power_limit_w)} W" if state.power_limit_w is not None else ""
    heat = f"{state.temperature_c:.0f} °C" if state.temperature_c is not None else ""
    level = f"performance level {state.performance_level}" if state.performance_level else ""
    busy = f"{state.busy_percent} % busy" if state.busy_percent is not None else ""
    held = f"held down by {state.throttled_by}" if state.throttled_by else ""
    return [part for part in (clock + most, memory, power, limit, heat, level, busy, held) if part]


def _install(lacking: Runtime) -> str:
    """The command for what a runtime's sentence names."""
    return INSTALL_NVRTC if "NVRTC" in lacking.problem else INSTALL[lacking.name]


def _user(user: GpuUser) -> str:
    queues = "" if user.queues is None else f", {user.queues} queue{'' if user.queues == 1 else 's'}"
    return f"pid {user.pid} ({user.name or 'unknown'}{queues})"


def _list(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
