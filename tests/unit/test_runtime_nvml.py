"""Who computes on an NVIDIA GPU, as a stand-in management library says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_kernelperf.runtime.nvml import open_users

LIBRARY = """
#include <string.h>
struct process { unsigned pid; unsigned long long memory; unsigned gpu, compute; };
int nvmlInit_v2(void) { return INIT; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
    *device = (void*)1;
    return strcmp(bus, "0000:c1:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* processes) {
    (void)device;
    if (REFUSED) return 4;
    if (*count < USERS) { *count = USERS; return 7; }
    for (unsigned i = 0; i < USERS; ++i) processes[i].pid = 1000 + i;
    *count = USERS;
    return 0;
}
"""


def build(folder: Path, users: int = 2, init: int = 0, refused: int = 0) -> str:
    """A management library that lists this many users, or refuses."""
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(LIBRARY)
    definitions = [f"-DUSERS={users}u", f"-DINIT={init}", f"-DREFUSED={refused}"]
    subprocess.run(["cc", "-shared", "-fPIC", *definitions, str(source), "-o", str(library)], check=True)
    return str(library)


@pytest.mark.parametrize("users", [0, 2, 300])
def test_the_processes_of_a_gpu_are_listed(tmp_path: Path, users: int) -> None:
    """By process id, however many they are."""
    list_users = open_users("0000:c1:00.0", build(tmp_path, users))

    assert list_users() == tuple(range(1000, 1000 + users))


@pytest.mark.parametrize(("init", "refused", "bus_id"), [(9, 0, "0000:c1:00.0"), (0, 1, "0000:c1:00.0"), (0, 0, "x")])
def test_a_library_that_refuses_lists_nobody(tmp_path: Path, init: int, refused: int, bus_id: str) -> None:
    """Not started, not permitted, no such device: nobody is seen, nothing is raised."""
    assert open_users(bus_id, build(tmp_path, init=init, refused=refused))() == ()


def test_without_the_library_nobody_is_seen() -> None:
    """A machine without NVIDIA's driver."""
    assert open_users("0000:c1:00.0", "libnvidia-ml-that-is-not-there.so.1")() == ()
