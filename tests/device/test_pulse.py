"""The pulse kernel itself: on the cpu runtime, whose cycle counter is its wall clock, and compiled for AMD GPUs."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.runtime.device_build import build_device
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.pulse import Pulse, open_pulse, pulse_bundle
from pytest_kernelperf.runtime.toolchain import find_toolchain


def test_the_pulse_counts_cycles_against_the_wall_clock() -> None:
    """Nanoseconds on both sides are 1,000 MHz; a thread that loses its core for over a millisecond counts fewer."""
    try:
        chosen = choose("cpu")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    with Device(chosen) as device, Loop(device) as loop, Pulse(loop) as pulse:
        rates = [pulse.clock_mhz() or 0 for _ in range(20)]
        assert 999 < max(rates) < 1001
        assert open_pulse(loop) is None  # which is why the guard does not ask there


@pytest.mark.parametrize("architecture", ["gfx1151", "gfx942", "gfx1030"])
def test_the_pulse_compiles_for_amd(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With clang's own counters."""
    for program, package in (("clang++-19", "clang-19"), ("ld.lld-19", "lld-19")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: apt-get install {package}")
    monkeypatch.delenv("HIPCXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", str(Path("/nonexistent")))
    bundle = pulse_bundle()
    text = f"#include <hip/hip_runtime.h>\n{bundle.files[bundle.main]}"
    data, _ = build_device(
        find_toolchain("cpu"), msgspec.structs.replace(bundle, files={bundle.main: text}), architecture
    )
    assert b"kernelperf_pulse" in data
