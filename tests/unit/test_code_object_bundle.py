"""Offload bundles, plain and compressed: which code a device takes, and what is said of damage and of other files."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import zstandard
from compiled_objects import amd_object
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.code_object import bundle as bundles
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.code_object.bundle import MAGIC, bundle_within, read_bundle, unbundle
from pytest_kernelperf.code_object.read import architecture_of
from pytest_kernelperf.code_object.target import best_target, runs_on, target_of
from pytest_kernelperf.errors import CodeObjectError

SCALE = 'extern "C" __global__ void scale(float* p, int n, float f) { if ((int)thread() < n) p[thread()] *= f; }'


def packed(parts: dict[str, bytes], triple: str = "hipv4-amdgcn-amd-amdhsa--") -> bytes:
    """A bundle as clang lays it out, the empty host entry first."""
    entries = {"host-x86_64-unknown-linux--": b"", **{triple + target: part for target, part in parts.items()}}
    header_bytes = len(MAGIC) + 8 + sum(24 + len(name) for name in entries)
    header, content = MAGIC + struct.pack("<Q", len(entries)), b""
    for name, part in entries.items():
        header += struct.pack("<QQQ", header_bytes + len(content), len(part), len(name)) + name.encode()
        content += part
    return header + content


def compressed(whole: bytes, version: int = 2, method: int = 1) -> bytes:
    """A compressed bundle of a version: zlib (0) or Zstandard (1)."""
    stream = zlib.compress(whole) if method == 0 else zstandard.compress(whole)
    digest = hashlib.md5(whole).digest()[:8]
    layout = {1: "<4sHHI8s", 2: "<4sHHII8s", 3: "<4sHHQQ8s"}[version]
    size = () if version == 1 else (struct.calcsize(layout) + len(stream),)
    return struct.pack(layout, b"CCOB", version, method, *size, len(whole), digest) + stream


TWO = packed({"gfx1151": b"code of 1151" * 40, "gfx1100": b"code of 1100" * 40})


@pytest.mark.parametrize("method", [0, 1])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_and_method_is_read(version: int, method: int) -> None:
    """The same parts as in the plain bundle, whatever packed it; bytes behind a stated size do not matter."""
    data = compressed(TWO, version, method)
    assert read_bundle(data) == read_bundle(TWO)
    assert unbundle(data, "gfx1100") == b"code of 1100" * 40
    if version > 1:
        assert read_bundle(data + bytes(4096)) == read_bundle(TWO)


@pytest.mark.parametrize("options", [(), ("--offload-compress",), ("--offload-compress", "-mcode-object-version=4")])
def test_what_clang_writes_is_read(options: tuple[str, ...]) -> None:
    """A real compiler's bundle for two GPUs, compressed and not, gives each its own kernels."""
    data = amd_object(SCALE, "gfx1151", "--offload-arch=gfx90a:xnack+", "--offload-arch=gfx90a:xnack-", *options)
    assert data.startswith(b"CCOB" if options else MAGIC)
    assert list(read_bundle(data)) == ["gfx1151", "gfx90a:xnack+", "gfx90a:xnack-"]
    assert architecture_of(unbundle(data, "gfx90a:sramecc+:xnack-")) == "gfx90a:xnack-"
    assert read_kernels(data, "gfx1151")["scale"].resources["wave_size"] == 32
    assert read_kernels(data, "gfx90a:sramecc+:xnack+")["scale"].resources["wave_size"] == 64


def test_what_the_bundler_compresses_is_read(tmp_path: Path) -> None:
    """The tool by itself, as build systems call it."""
    if shutil.which("clang-offload-bundler-19") is None:
        pytest.skip("no clang-offload-bundler-19 here: apt-get install clang-tools-19")
    names = ("host", "a", "b")
    for name in names:
        (tmp_path / name).write_bytes(b"" if name == "host" else name.encode() * 5000)
    subprocess.run(
        [
            "clang-offload-bundler-19", "-type=o", "-compress", f"-output={tmp_path}/bundle",
            "-targets=host-x86_64-unknown-linux--,hipv4-amdgcn-amd-amdhsa--gfx1151,hipv4-amdgcn-amd-amdhsa--gfx1201",
            *(f"-input={tmp_path}/{name}" for name in names),
        ],
        check=True,
    )  # fmt: skip
    data = (tmp_path / "bundle").read_bytes()
    assert data.startswith(b"CCOB")
    assert read_bundle(data) == {"gfx1151": b"a" * 5000, "gfx1201": b"b" * 5000}


@pytest.mark.parametrize(
    ("code", "device", "fits"),
    [
        ("gfx1151", "gfx1151", True),
        ("gfx1151", "gfx1150", False),
        ("gfx115", "gfx1151", False),
        ("gfx90a", "gfx90a:sramecc+:xnack-", True),
        ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", True),
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", False),
        ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc-:xnack-", False),
        ("gfx90a:xnack+", "gfx90a", True),  # what the device does not say may be either
        ("gfx11-generic", "gfx1151", True),
        ("gfx11-generic", "gfx1201", False),
        ("gfx10-3-generic", "gfx1030", True),
        ("gfx9-4-generic:xnack+", "gfx942:sramecc+:xnack-", False),
        ("gfx9-generic", "gfx942", False),
        ("gfx1151", "gfx11-generic", False),
        ("amdgcnspirv", "gfx1151", False),
    ],
)
def test_code_runs_where_amds_rules_say(code: str, device: str, fits: bool) -> None:
    """Processor or its family, and every feature that the code states."""
    assert runs_on(code, device) is fits


@pytest.mark.parametrize(
    ("held", "device", "taken"),
    [
        (["gfx11-generic", "gfx1151"], "gfx1151", "gfx1151"),
        (["gfx11-generic", "gfx1100"], "gfx1151", "gfx11-generic"),
        (["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
        (["gfx90a", "gfx90a:xnack-"], "gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
        (["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a", "gfx90a:xnack+"),
        (["gfx1100", "amdgcnspirv"], "gfx1151", None),
    ],
)
def test_of_several_the_nearest_is_taken(held: list[str], device: str, taken: str | None) -> None:
    """A device's own code before its family's, the more specific before the less, in any order of the file."""
    assert best_target(held, device) == best_target(reversed(held), device) == taken


@pytest.mark.parametrize(
    ("triple", "target"),
    [
        ("amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+"),
        ("amdgcn-amd-amdhsa-unknown-gfx1151", "gfx1151"),
        ("amdgcn-amd-amdhsa--gfx10-3-generic", "gfx10-3-generic"),
        ("amdgcn-amd-amdhsa-gfx803", "gfx803"),
        ("spirv64-amd-amdhsa--amdgcnspirv", "amdgcnspirv"),
        ("", ""),
    ],
)
def test_a_target_is_read_off_triples_of_old_and_new_compilers(triple: str, target: str) -> None:
    """LLVM 20 writes ``unknown`` where LLVM 19 wrote nothing."""
    assert target_of(triple) == target
    if target:
        assert list(read_bundle(packed({"": b"x"}, f"hip-{triple}"))) == [target]


def test_what_a_bundle_lacks_is_said_with_the_option_that_adds_it() -> None:
    """For a device, without one, and where nothing is for a device at all."""
    with pytest.raises(CodeObjectError, match=r"for gfx942 \(it holds gfx1100, gfx1151\).*--offload-arch=gfx942"):
        unbundle(TWO, "gfx942")
    with pytest.raises(CodeObjectError, match=r"2 code objects for the device.*exactly one"):
        unbundle(TWO)
    with pytest.raises(CodeObjectError, match=r"it holds none"):
        unbundle(packed({}), "gfx1151")


def test_an_unknown_version_or_method_says_how_to_do_without() -> None:
    """A newer compiler's file is no damage."""
    for at, value in ((4, 4), (4, 0), (6, 2)):
        data = bytearray(compressed(TWO))
        data[at : at + 2] = struct.pack("<H", value)
        with pytest.raises(CodeObjectError, match="no-offload-compress"):
            read_bundle(bytes(data))


def test_a_bundle_that_unpacks_to_too_much_is_refused_before_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own word, and where its word is a lie: a small file cannot fill the memory."""
    monkeypatch.setattr(bundles, "MOST_BYTES", 4 * 1024 * 1024)
    with pytest.raises(CodeObjectError, match=r"unpacks to 4194305 bytes, more than the 4194304"):
        read_bundle(compressed(MAGIC.ljust(4 * 1024 * 1024 + 1, b"\0")))
    for method in (0, 1):
        bomb = compressed(MAGIC.ljust(64 * 1024 * 1024, b"\0"), 2, method)
        lie = bomb[:12] + struct.pack("<I", len(TWO)) + bomb[16:]
        with pytest.raises(CodeObjectError, match="more than its header says"):
            read_bundle(lie)


@pytest.mark.parametrize(
    ("at", "put", "words"),
    [(16, b"\0", "not what its header says"), (8, b"\xff\xff", "its header says"), (12, b"\1\0\0\0", "more than")],
)
def test_a_header_that_is_wrong_is_damage(at: int, put: bytes, words: str) -> None:
    """Digest, file size, and size of the bundle."""
    data = compressed(TWO)
    with pytest.raises(CodeObjectError, match=f"damaged code object .compressed offload bundle.*{words}"):
        read_bundle(data[:at] + put + data[at + len(put) :])


def test_a_bundle_in_a_compressed_one_must_be_plain() -> None:
    """No nest of bundles, however deep."""
    with pytest.raises(CodeObjectError, match="no bundle"):
        read_bundle(compressed(compressed(TWO)))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_is_one_sentence(data: st.DataObject) -> None:
    """Cut off or with bytes changed, a compressed bundle is read as it was or refused, never read as something else."""
    whole = compressed(TWO, data.draw(st.sampled_from([1, 2, 3])), data.draw(st.sampled_from([0, 1])))
    damaged = bytearray(whole[: data.draw(st.integers(4, len(whole)))])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(4, len(damaged) - 1) | st.integers(4, 31)) if len(damaged) > 4 else 0
        if 4 <= at < len(damaged):
            damaged[at] = data.draw(st.integers(0, 255))
    said = ""
    try:
        assert read_bundle(bytes(damaged)) == read_bundle(TWO)
    except CodeObjectError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 400


# --- what the host's files carry ----------------------------------------------------------------

HOST = """
#define __global__ __attribute__((global))
typedef struct ihipStream_t* hipStream_t;
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, hipStream_t = nullptr);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long*, hipStream_t*);
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, hipStream_t);
namespace { template <class T> __global__ void NAME(T* p) { p[__builtin_amdgcn_workitem_id_x()] *= 2; } }
void run_NAME(float* p) { NAME<float><<<1, 64>>>(p); }
"""


def host_object(folder: Path, name: str, *options: str) -> Path:
    """An object file of a source with a kernel, compiled for host and device as an engine's build does it."""
    for program in ("clang++-19", "clang-offload-bundler-19", "ld.lld-19"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: apt-get install clang-19 clang-tools-19 lld-19")
    (folder / f"{name}.hip").write_text(HOST.replace("NAME", name))
    command = ["clang++-19", "-x", "hip", "--offload-arch=gfx1151", "--offload-arch=gfx1100", "-nogpulib", "-nogpuinc"]
    options = ("-fPIC", *options)
    output = folder / f"{name}.o"
    subprocess.run([*command, *options, "-c", folder / f"{name}.hip", "-o", output], check=True, capture_output=True)
    return output


@pytest.mark.parametrize("options", [(), ("--offload-compress",)])
def test_an_object_file_of_a_build_has_its_sources_kernels(tmp_path: Path, options: tuple[str, ...]) -> None:
    """What CMake compiled into the engine is taken out of its object file, and out of a library of one source."""
    compiled = host_object(tmp_path, "twice", *options)
    library = tmp_path / "libtwice.so"
    subprocess.run(["clang++-19", "-shared", "-o", library, compiled], check=True)
    for path in (compiled, library):
        bundle = bundle_within(path.read_bytes())
        assert sorted(read_bundle(bundle)) == ["gfx1100", "gfx1151"]
        assert read_kernels(path.read_bytes(), "gfx1151") == read_kernels(unbundle(bundle, "gfx1151"))


def test_a_library_of_several_sources_is_refused_with_what_to_name(tmp_path: Path) -> None:
    """Which of its bundles has the kernel is not guessed."""
    objects = [host_object(tmp_path, "twice"), host_object(tmp_path, "thrice")]
    library = tmp_path / "libboth.so"
    subprocess.run(["clang++-19", "-shared", "-o", library, *objects], check=True)
    with pytest.raises(CodeObjectError, match=r"carries 2 offload bundles, one of each source: name the object file"):
        read_kernels(library.read_bytes())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_of_the_host_is_one_sentence(tmp_path: Path, data: st.DataObject) -> None:
    """Cut off or with bytes changed: read, or refused."""
    if not (tmp_path / "twice.o").exists():
        host_object(tmp_path, "twice")
    whole = (tmp_path / "twice.o").read_bytes()
    damaged = bytearray(whole[: data.draw(st.integers(20, len(whole)))])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(20, len(damaged) - 1) | st.integers(20, 63)) if len(damaged) > 64 else 0
        damaged[at] = data.draw(st.integers(0, 255)) if at else damaged[at]
    said = ""
    try:
        read_kernels(bytes(damaged), "gfx1151")
    except CodeObjectError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 400


# --- files that are no code objects -----------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x50\xed\x55\xba\x01\x00\x10\x00" + bytes(56), "CUDA fat binary.*cuobjdump.*nvcc -cubin"),
        (b"BC\xc0\xde" + bytes(60), "LLVM bitcode.*-fgpu-rdc"),
        (b"!<arch>\n" + bytes(60), "static library.*--genco"),
        (b"\x10\xff\x10\xad" + bytes(60), "LLVM offload package.*clang-offload-packager"),
        (Path(sys.executable).read_bytes(), "host without HIP's device code.*--genco"),
        (b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(44), "damaged code object .file of the host"),
        (b"//\n.version 9.0\n.target sm_90\n.address_size 64\n", "PTX.*nvcc -cubin"),
        (b"\x89PNG", "unknown code object"),
        (b"", "unknown code object"),
    ],
    ids=["fatbin", "bitcode", "archive", "package", "program", "stub", "ptx", "picture", "empty"],
)
def test_other_files_say_what_they_are_and_what_to_do(data: bytes, words: str) -> None:
    """What lies beside code objects in a build folder is taken for one sooner or later."""
    with pytest.raises(CodeObjectError, match=words):
        read_kernels(data)


def test_a_bundle_may_hold_what_is_no_code_yet() -> None:
    """-fgpu-rdc puts bitcode into its bundles."""
    with pytest.raises(CodeObjectError, match="LLVM bitcode"):
        read_kernels(packed({"gfx1151": b"BC\xc0\xde" + bytes(60)}), "gfx1151")
