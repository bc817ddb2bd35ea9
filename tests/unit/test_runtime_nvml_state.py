"""NVIDIA GPUs as a stand-in management library describes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_kernelperf.machine import Gpu, GpuState
from pytest_kernelperf.runtime.nvml_state import gpus, open_state

LIBRARY = """
#include <string.h>
#ifndef REASONS
#define REASONS 0
#endif
struct pci { char legacy[16]; unsigned domain, bus, device, device_id, subsystem; char bus_id[32]; };
int nvmlInit_v2(void) { return INIT; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = (void*)(long)(index + 1);
    return index == 1 && LOST ? 15 : 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
    *device = (void*)1L;
    return strcmp(place, "0000:1b:00.0") ? 6 : 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
    strncpy(name, device == (void*)1 ? "NVIDIA H200" : "NVIDIA L4", length);
    return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, struct pci* pci) {
    pci->domain = 0; pci->bus = device == (void*)1 ? 0x1b : 0xc1; pci->device = 0;
    return 0;
}
int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* mhz) { *mhz = kind == 1 ? 345 : 0; return REFUSED; }
int nvmlDeviceGetMaxClockInfo(void* device, int kind, unsigned* mhz) { *mhz = kind == 1 ? 1980 : 0; return REFUSED; }
int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) { *mw = 79170; return REFUSED; }
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* mw) { *mw = 700000; return REFUSED; }
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* c) { *c = 37; return REFUSED; }
int nvmlDeviceGetPerformanceState(void* device, unsigned* state) { *state = 0; return REFUSED; }
int nvmlDeviceGetUtilizationRates(void* device, unsigned* used) { used[0] = 12; used[1] = 3; return REFUSED; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
    *bits = REASONS;
    return REFUSED;
}
"""


def build(folder: Path, init: int = 0, refused: int = 0, lost: int = 0, reasons: int = 0) -> str:
    """A management library with two GPUs, of which it says all, or nothing but names."""
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(LIBRARY)
    definitions = [f"-DINIT={init}", f"-DREFUSED={refused}", f"-DLOST={lost}", f"-DREASONS={reasons}"]
    subprocess.run(["cc", "-shared", "-fPIC", *definitions, str(source), "-o", str(library)], check=True)
    return str(library)


def test_each_gpu_has_its_name_place_clock_and_power(tmp_path: Path) -> None:
    """Claim: MHz, W from milliwatts, degrees; the SM's clock, not the graphics' or the memory's."""
    state = GpuState("NVML", 345, 1980, 79.17, 700.0, 37, "P0", 12)
    assert gpus(build(tmp_path)) == (
        Gpu("NVIDIA", "NVIDIA H200", "0000:1b:00.0", state=state),
        Gpu("NVIDIA", "NVIDIA L4", "0000:c1:00.0", state=state),
    )


@pytest.mark.parametrize(
    ("reasons", "words"),
    [(0x1, ""), (0x2, ""), (0x4, "the power limit"), (0x60, "the software's temperature limit, the hardware's temper")],
)
def test_limits_are_named_and_idleness_is_none(tmp_path: Path, reasons: int, words: str) -> None:
    """Claim: an idle clock is not a throttled one."""
    state = gpus(build(tmp_path, reasons=reasons))[0].state
    assert state is not None
    assert state.throttled_by.startswith(words)
    assert bool(state.throttled_by) == bool(words)


def test_what_it_refuses_is_not_said(tmp_path: Path) -> None:
    """Claim: as in containers and virtual machines: names alone."""
    assert {gpu.state for gpu in gpus(build(tmp_path, refused=3))} == {GpuState("NVML")}


def test_a_gpu_that_fell_off_the_bus_hides_no_other(tmp_path: Path) -> None:
    """Claim: the GPU that still answers is described."""
    assert [gpu.name for gpu in gpus(build(tmp_path, lost=1))] == ["NVIDIA H200"]


def test_without_a_library_or_its_permission_there_is_none(tmp_path: Path) -> None:
    """Claim: nothing is raised."""
    assert gpus(build(tmp_path, init=9)) == ()
    assert gpus("libnvidia-ml-that-is-not-there.so.1") == ()


def test_one_gpu_is_asked_by_its_place_again_and_again(tmp_path: Path) -> None:
    """Claim: the state of the GPU at hand; None where there is no such GPU or library."""
    read = open_state("0000:1b:00.0", build(tmp_path, reasons=0x40))
    for _ in range(2):
        state = read()
        assert state is not None
        assert (state.throttled_by, state.power_limit_w) == ("the hardware's temperature limit", 700.0)
    assert open_state("0000:ff:00.0", str(tmp_path / "libnvidia-ml.so.1"))() is None
    assert open_state("0000:1b:00.0", "libnvidia-ml-that-is-not-there.so.1")() is None
