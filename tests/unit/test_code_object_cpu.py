"""Kernels of cpu code objects: parameters, and digests that follow a kernel through the relocatable."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled_objects import COMPILERS, TABLE_STRUCT, cpu_object, kernel

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.code_object.container import MAGIC, CpuObject, read_container, write_container
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import Parameter

SHARED = """
extern "C" float expf(float);
extern "C" float logf(float);
static const float weights[5] = {1, 2, 3, 4, 5};
static __attribute__((noinline)) float curve(float x) { return x * 2.5f + 0.125f; }
template <class T> __attribute__((noinline)) T twice(T x) { return x * T(3.5); }
extern "C" float elsewhere(float);
"""
SCALE = kernel("scale", "for (int i = 0; i < n; i++) p[i] = p[i] * 3.25f + weights[i % 5];")
INDEX = kernel("index", "for (int i = 0; i < n; i++) p[i] = i * 7 + 0.75f;")
BEND = kernel("bend", "for (int i = 0; i < n; i++) p[i] = curve(twice<float>(p[i])) + expf(p[i]);")
SWITCH = kernel(
    "choose",
    """switch (n) { case 1: *p = elsewhere(3); break; case 2: *p = 7; break; case 3: *p = p[1] * 13; break;
    case 4: *p = p[5]; break; case 5: *p = n * p[3]; break; case 9: *p = 11; break; default: *p = 1.5f; }""",
)
ALL = SHARED + SCALE + INDEX + BEND + SWITCH

OPTIONS = ((), ("-march=x86-64-v4", "-mprefer-vector-width=512"), ("-O1",))


def digests(source: str, compiler: str, *options: str) -> dict[str, str]:
    return {
        name: facts.instruction_digest for name, facts in read_kernels(cpu_object(source, compiler, *options)).items()
    }


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=OPTIONS, ids=lambda options: "".join(options) or "plain")
def options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if any("x86-64" in option for option in request.param) and not _is_x86():
        pytest.skip("the option is x86-64's")
    return tuple(request.param)


def _is_x86() -> bool:
    return subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip() == "x86_64"


def test_parameters_come_from_the_table(compiler: str) -> None:
    """Kind, size and pointee of each parameter are what the object's table says."""
    facts = read_kernels(cpu_object(ALL, compiler))

    assert set(facts) == {"scale", "index", "bend", "choose"}
    assert facts["scale"].parameters == (Parameter("pointer", 8, "float", 4), Parameter("signed", 4, "unknown", 0))


@pytest.mark.parametrize(
    ("changed", "edit"),
    [
        ("scale", ("3.25f", "3.5f")),
        ("scale", ("weights[i % 5]", "weights[i % 4]")),
        ("index", ("i * 7 + 0.75f", "i * 7 + 0.875f")),
        ("index", ("i * 7", "i * 9")),
        ("bend", ("expf(p", "logf(p")),
        ("choose", ("* 13", "* 17")),
        ("choose", ("elsewhere(3)", "elsewhere(4)")),
        ("bend", ("x * 2.5f + 0.125f", "x * 2.5f + 0.25f")),
        ("bend", ("T(3.5)", "T(3.75)")),
        ("scale", ("{1, 2, 3, 4, 5}", "{1, 2, 3, 4, 6}")),
    ],
)
def test_a_change_shows_in_its_kernel_and_in_no_other(
    compiler: str, options: tuple[str, ...], changed: str, edit: tuple[str, str]
) -> None:
    """A changed instruction, constant, table or function changes the digest of the kernels that use it, only."""
    assert edit[0] in ALL
    before, after = digests(ALL, compiler, *options), digests(ALL.replace(*edit), compiler, *options)

    assert {name for name in before if before[name] != after[name]} == {changed}


@pytest.mark.parametrize(
    ("what", "source"),
    [
        ("a comment and moved lines", "// a comment\n\n\n" + ALL.replace("for (int", "/* here */\nfor (int")),
        (
            "a renamed local variable",
            ALL.replace("int i = 0; i < n; i++) p[i] = i * 7", "int k = 0; k < n; k++) p[k] = k * 7"),
        ),
        ("renamed static functions and tables", ALL.replace("curve", "bow").replace("weights", "factors")),
        ("another order of kernels", SHARED + SWITCH + BEND + INDEX + SCALE),
        (
            "a kernel more, in front, with constants of its own",
            SHARED
            + kernel("first", "for (int i = 0; i < n; i++) p[i] = p[i] * 9.5f + i * 11 + 0.3125f;")
            + SCALE
            + INDEX
            + BEND
            + SWITCH,
        ),
    ],
    ids=lambda value: value if " " in value and "\n" not in value else "",
)
def test_what_does_not_run_does_not_show(compiler: str, options: tuple[str, ...], what: str, source: str) -> None:
    """Comments, names, lines, order and other kernels leave every digest as it was."""
    before, after = digests(ALL, compiler, *options), digests(source, compiler, *options)

    assert {name: after[name] for name in before} == before, what


def test_two_kernels_with_the_same_instructions_have_the_same_digest(compiler: str) -> None:
    """A digest is of instructions, not of names."""
    twin = INDEX.replace("_index", "_twin")
    found = digests(SHARED + INDEX + twin, compiler, *(("-fno-ipa-icf",) if compiler == "g++" else ()))

    assert found["index"] == found["twin"]


POOLED = """
asm(R"(
    .section .rodata
    .balign 64
.Lone: .fill 16, 4, ONE
.Ltwo: .fill 16, 4, TWO
    .section .text.kernelperf_thunk_one,"ax",@progbits
    .globl kernelperf_thunk_one
kernelperf_thunk_one:
    vpaddd .Lone(%rip), %zmm1, %zmm0
    ret
    .section .text.kernelperf_thunk_two,"ax",@progbits
    .globl kernelperf_thunk_two
kernelperf_thunk_two:
    vpternlogd $0x1e, .Ltwo(%rip), %zmm1, %zmm0
    ret
)");
extern "C" __attribute__((used)) const kernelperf_parameter kernelperf_parameters_one[] = {{'p', 'f', 8, 8, 4, 0}};
extern "C" __attribute__((used)) const kernelperf_parameter kernelperf_parameters_two[] = {{'p', 'f', 8, 8, 4, 0}};
"""


@pytest.mark.skipif(not _is_x86(), reason="x86-64 instructions")
@pytest.mark.parametrize(("edit", "changed"), [(("ONE", "3"), {"one"}), (("TWO", "3"), {"two"})])
def test_a_pooled_constant_belongs_to_the_instruction_that_reads_it(
    compiler: str, edit: tuple[str, str], changed: set[str]
) -> None:
    """A constant in a section without symbols is found behind a trailing immediate too."""
    before = digests(POOLED.replace("ONE", "1").replace("TWO", "2"), compiler)
    after = digests(POOLED.replace(*edit).replace("ONE", "1").replace("TWO", "2"), compiler)

    assert {name for name in before if before[name] != after[name]} == changed


SMALL = """
asm(R"(
    .section .rodata
.Lsmall: .short 1, TWO
    .section .text.kernelperf_thunk_small,"ax",@progbits
    .globl kernelperf_thunk_small
kernelperf_thunk_small:
    vpbroadcastw .Lsmall+2(%rip), %zmm0
    ret
)");
extern "C" __attribute__((used)) const kernelperf_parameter kernelperf_parameters_small[] = {{'p', 'f', 8, 8, 4, 0}};
"""


@pytest.mark.skipif(not _is_x86(), reason="x86-64 instructions")
def test_a_constant_of_two_bytes_is_found_at_the_end_of_its_section(compiler: str) -> None:
    """clang broadcasts 16-bit constants, which are not aligned to four, from a section without symbols."""
    assert digests(SMALL.replace("TWO", "2"), compiler) != digests(SMALL.replace("TWO", "3"), compiler)


def test_functions_that_call_each_other_end(compiler: str) -> None:
    """A cycle of references is followed once."""
    source = """
    extern "C" float left(float); __attribute__((noinline)) float right(float x) { return x < 0 ? left(x + 1) * 2 : 1; }
    float left(float x) { return x < 9 ? right(x - 3) * 3 : 2; }
    """ + kernel("cycle", "*p = left(n);")

    first, second = digests(source, compiler), digests(source.replace("x - 3", "x - 4"), compiler)

    assert first["cycle"] != second["cycle"]


def test_a_container_survives_a_round_trip() -> None:
    """What is put together is taken apart again."""
    parts = CpuObject(b"shared object", b"relocatable")

    assert read_container(write_container(parts)) == parts


def test_an_unknown_version_is_refused_with_advice() -> None:
    """A container of another version is named with its version and what to do."""
    data = bytearray(write_container(CpuObject(b"a", b"b")))
    data[8] = 2

    with pytest.raises(CodeObjectError, match=r"version 2.*compile it again"):
        read_kernels(bytes(data))


def test_a_container_that_is_cut_off_is_refused() -> None:
    """Every prefix of a container is one sentence, never a crash."""
    data = cpu_object(ALL)

    for size in [*range(80), *range(80, len(data), 97)]:
        with pytest.raises(CodeObjectError):
            read_kernels(data[:size])


def test_a_kernel_without_its_parameter_table_is_refused(tmp_path: Path) -> None:
    """An object that does not say a kernel's parameters is not guessed at."""
    data = cpu_object('extern "C" void kernelperf_thunk_lost(float* p) { *p = 1; }')

    with pytest.raises(CodeObjectError, match="lost has no parameter table"):
        read_kernels(data)


def test_unknown_bytes_are_refused_with_what_was_expected() -> None:
    """Bytes of no known kind are named, and what could have been there."""
    for data in (b"", b"hello", MAGIC[:4], b"\x7fELF" + bytes(60), TABLE_STRUCT.encode()):
        with pytest.raises(CodeObjectError, match="unknown code object"):
            read_kernels(data)
