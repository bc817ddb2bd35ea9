"""Kernels of AMD code objects and cubins, and what damage does to any code object."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from compiled_objects import amd_object, cpu_object, kernel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import Parameter

CUBINS = Path(__file__).parent.parent / "data" / "cubin"

SCALE = """
extern "C" __global__ void scale(float* p, int n, float f) { if ((int)thread() < n) p[thread()] *= f; }
"""
BEND = """
__device__ __attribute__((noinline)) float bow(float x, int n) { for (int i = 0; i < n; i++) x = x * x + 1; return x; }
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void bend(float* p, int n) {
    __shared__ float s[64];
    s[thread()] = bow(p[thread()], n) + table[n];
    __builtin_amdgcn_s_barrier();
    p[thread()] = s[63 - thread()];
}
"""
PLAIN = """
extern "C" __global__ void fill(float* p, int n) { p[thread()] = n * 3; }
extern "C" __global__ void count(int* p, int n) { p[thread()] = thread() + n; }
"""


def digests(data: bytes) -> dict[str, str]:
    return {name: facts.instruction_digest for name, facts in read_kernels(data).items()}


def test_amd_metadata_gives_parameters_and_resources() -> None:
    """Parameters are the visible arguments in order; resources are registers, LDS, scratch, spills and modes."""
    facts = read_kernels(amd_object(SCALE + BEND))

    assert facts["scale"].parameters == (Parameter("pointer", 8), Parameter("unknown", 4), Parameter("unknown", 4))
    assert facts["bend"].resources["lds_bytes"] == 256
    assert facts["bend"].resources["vgprs"] > 0
    assert {key: facts["scale"].resources[key] for key in ("scratch_bytes", "spills", "wave_size", "wgp_mode")} == {
        "scratch_bytes": 0, "spills": 0, "wave_size": 32, "wgp_mode": 1,
    }  # fmt: skip


def test_amd_wave_and_workgroup_modes_are_read() -> None:
    """wave64 and compute-unit mode show in the resources and change the digest."""
    default, other = (
        read_kernels(amd_object(SCALE)),
        read_kernels(amd_object(SCALE, "gfx1151", "-mwavefrontsize64", "-mcumode")),
    )

    assert (other["scale"].resources["wave_size"], other["scale"].resources["wgp_mode"]) == (64, 0)
    assert default["scale"].instruction_digest != other["scale"].instruction_digest


@pytest.mark.parametrize("architecture", ["gfx1151", "gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_an_amd_kernel_changes_alone(architecture: str) -> None:
    """A changed kernel changes its own digest, whatever the architecture; a kernel in front changes none."""
    before = digests(amd_object(PLAIN, architecture))
    changed = digests(amd_object(PLAIN.replace("n * 3", "n * 5"), architecture))
    longer = digests(amd_object(SCALE + PLAIN, architecture))

    assert {name for name in before if before[name] != changed[name]} == {"fill"}
    assert {name: longer[name] for name in before} == before


def test_amd_names_comments_and_lines_do_not_show() -> None:
    """Renamed parameters and locals, comments and moved lines leave the digest as it was."""
    renamed = "// a comment\n\n" + PLAIN.replace("int n)", "int total)").replace(" n * 3", "\n total * 3").replace(
        "+ n", "+ total"
    )

    assert digests(amd_object(renamed)) == digests(amd_object(PLAIN))


def test_two_amd_kernels_with_the_same_instructions_have_the_same_digest() -> None:
    """A digest is of what runs, not of its name."""
    found = digests(amd_object(SCALE + SCALE.replace("scale", "twin")))

    assert found["scale"] == found["twin"]


@pytest.mark.parametrize("edit", [("x * x + 1", "x * x + 2"), ("{1, 2, 3, 4}", "{1, 2, 3, 5}")])
def test_a_shared_amd_function_or_table_shows(edit: tuple[str, str]) -> None:
    """What is not inlined counts for the kernels of the object, since a linked object does not say who uses it."""
    assert digests(amd_object(BEND.replace(*edit)))["bend"] != digests(amd_object(BEND))["bend"]


def test_cubin_parameters_are_sizes_in_order() -> None:
    """A cubin states sizes, not kinds."""
    facts = read_kernels((CUBINS / "two.cubin").read_bytes())

    assert facts["bend"].parameters == (Parameter("unknown", 8), Parameter("unknown", 4), Parameter("unknown", 8))
    assert facts["scale"].resources == {"lds_bytes": 0}


def test_a_cubin_kernel_changes_alone() -> None:
    """A changed kernel and a new one in front leave the third as it was."""
    before, after = (digests((CUBINS / f"{name}.cubin").read_bytes()) for name in ("two", "three"))

    assert before["bend"] == after["bend"]
    assert before["scale"] != after["scale"]
    assert set(after) == {"zero", "scale", "bend"}


def samples() -> dict[str, bytes]:
    cpu = kernel("scale", "for (int i = 0; i < n; i++) p[i] = p[i] * 3.25f;")
    return {
        "cpu": cpu_object(cpu),
        "bundle": amd_object(SCALE + BEND, "gfx1151", "--gpu-bundle-output"),
        "amd": amd_object(SCALE + BEND),
        "cubin": (CUBINS / "two.cubin").read_bytes(),
    }


@pytest.mark.parametrize("kind", ["cpu", "bundle", "amd", "cubin"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_one_sentence_in_bounded_time(kind: str, data: st.DataObject) -> None:
    """Cut off or with bytes flipped, a code object is read or refused: no other error, no long search."""
    whole = samples()[kind]
    damaged = bytearray(
        whole[: data.draw(st.integers(0, len(whole)), label="kept")] if data.draw(st.booleans()) else whole
    )
    for _ in range(data.draw(st.integers(0, 8), label="flips")):
        if damaged:
            at = data.draw(st.integers(0, len(damaged) - 1) | st.integers(0, min(len(damaged) - 1, 128)))
            damaged[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))

    refused_or_read(bytes(damaged))


@pytest.mark.parametrize("kind", ["cpu", "bundle", "amd", "cubin"])
def test_impossible_counts_and_sizes_end_quickly(kind: str) -> None:
    """Every aligned word of the object set to an enormous number, one at a time, is read or refused."""
    whole = samples()[kind]
    for at in range(0, len(whole) - 8, max(len(whole) // 150 // 8 * 8, 8)):
        for value in (0xFFFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFF, len(whole)):
            refused_or_read(whole[:at] + struct.pack("<Q", value) + whole[at + 8 :])


def refused_or_read(data: bytes) -> None:
    """A loop driven by a damaged count would run for minutes: the test would not end."""
    said = ""
    try:
        read_kernels(data)
    except CodeObjectError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 400
