"""A kernel's source as a bundle: what goes in, and what it is compiled with."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf import Kernel
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import DeviceBuild, ReadyObject, SourceBundle
from pytest_kernelperf.source import collect_bundle


def bundle_of(folder: Path, **keywords: Any) -> Any:
    """Collect the bundle of a kernel whose source is ``folder``/kernels/k.hip."""
    kernel = Kernel("k", source=folder / "kernels" / "k.hip", tokens=(1,), **keywords)
    return collect_bundle(kernel)


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_bundle_holds_the_headers_that_the_source_includes(tmp_path: Path) -> None:
    """Beside the file, above it, and in -I folders; also headers of headers; but nothing that is not included."""
    write(
        tmp_path,
        {
            "kernels/k.hip": '#include <hip/hip_runtime.h>\n#include "near.h"\n  # include "../shared/far.h"\n',
            "kernels/near.h": '#include <listed.h>\n#include "near.h"\n',
            "shared/far.h": '#include "beside_far.h"\n',
            "shared/beside_far.h": "",
            "include/listed.h": "",
            "kernels/unused.h": "",
        },
    )
    bundle = bundle_of(tmp_path, options=["-I../include", "-DN=1"])
    assert bundle.main == "kernels/k.hip"
    assert sorted(bundle.files) == [
        "include/listed.h",
        "kernels/k.hip",
        "kernels/near.h",
        "shared/beside_far.h",
        "shared/far.h",
    ]
    assert bundle.options == ("-Iinclude", "-DN=1")


@pytest.mark.parametrize("build", ["hiprtc", "device"])
def test_options_may_be_written_as_two_words(tmp_path: Path, build: Any) -> None:
    """As they are typed in a shell; the bundle is the same as of one word each."""
    write(tmp_path, {"kernels/k.hip": "#include <tile.h>\n", "include/tile.h": ""})
    two = bundle_of(tmp_path, options=["-I", "../include", "-D", "N=1"], build=build)
    assert sorted(two.files) == ["include/tile.h", "kernels/k.hip"]
    assert two == bundle_of(tmp_path, options=["-I../include", "-DN=1"], build=build)


def test_a_bundle_does_not_say_where_the_project_is(tmp_path: Path) -> None:
    """The same files in two folders are one bundle."""
    for name in ("one", "two"):
        write(tmp_path / name, {"kernels/k.hip": '#include "near.h"\n', "kernels/near.h": ""})
    assert bundle_of(tmp_path / "one").digest == bundle_of(tmp_path / "two").digest


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One sentence with the path."""
    with pytest.raises(UsageError, match=r"there is no .*k\.hip: check its path"):
        bundle_of(tmp_path)


# --- device-only builds and ready objects -----------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A project with host code in its kernel file, headers of its own and of the system, and compile commands."""
    words = [
        "/opt/rocm/bin/amdclang++",
        "-Iinclude",
        "-Ibuild/unused",
        "-isystem",
        "/opt/rocm/include",
        "-I/usr/include/eigen3",
        "-DN=1",
    ]
    words += ["-include", "include/first.h", "--offload-arch=gfx1151", "-O2", "-Wall"]
    entry = {"directory": str(tmp_path), "file": "kernels/k.hip", "arguments": words}
    write(
        tmp_path,
        {
            "kernels/k.hip": "#include <tile.h>\n#include <vector>\nvoid run() { k<<<1, 1>>>(); }\n",
            "include/tile.h": '#include "deep.h"\n',
            "include/deep.h": "",
            "include/first.h": "",
            "compile_commands.json": json.dumps([entry]),
        },
    )
    return tmp_path


def test_a_device_bundle_holds_the_projects_headers_and_flags(engine: Path) -> None:
    """The system's folders stay where they are; the test's own options come after the project's."""
    bundle = bundle_of(engine, build="device", options=["-DMINE"])
    assert sorted(bundle.files) == ["include/deep.h", "include/first.h", "include/tile.h", "kernels/k.hip"]
    assert bundle.main == "kernels/k.hip"
    assert bundle.options == (
        "-DN=1", "-O2", "-DMINE", "-includeinclude/first.h", "-Iinclude", "-isystem/usr/include/eigen3",
        "-isystem/opt/rocm/include",
    )  # fmt: skip
    assert bundle.build == DeviceBuild("/opt/rocm/bin/amdclang++", "gfx1151")


def test_a_project_within_a_toolkits_folder_has_headers_of_its_own(
    engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside the source is the project's, wherever both are."""
    monkeypatch.setenv("ROCM_PATH", str(engine))
    assert "-Iinclude" in bundle_of(engine, build="device").options


def change_command(engine: Path, *words: str, compiler: str = "hipcc") -> None:
    """Have the engine's compile commands say something else of its source."""
    entry = {"directory": str(engine), "file": "kernels/k.hip", "arguments": [compiler, *words]}
    (engine / "compile_commands.json").write_text(json.dumps([entry]))


@pytest.mark.parametrize("how", ["option", "compiler"])
def test_a_toolkit_in_the_users_home_is_no_part_of_the_project(engine: Path, how: str) -> None:
    """TheRock's tarball lies anywhere; the command says where."""
    rocm = engine / "tools" / "rocm"
    write(rocm, {"include/hip/hip_runtime.h": "", "lib/llvm/bin/clang++": ""})
    (engine / "kernels" / "k.hip").write_text("#include <hip/hip_runtime.h>\n")
    if how == "option":
        change_command(engine, f"--rocm-path={rocm}", f"-I{rocm}/include")
    else:
        change_command(engine, f"-I{rocm}/include", compiler=f"{rocm}/lib/llvm/bin/clang++")
    bundle = bundle_of(engine, build="device")
    assert list(bundle.files) == ["k.hip"]
    assert f"-isystem{rocm}/include" in bundle.options


def test_a_toolkits_header_that_is_included_first_stays_where_it_is(engine: Path) -> None:
    """By name, or found in a folder of the toolkit's."""
    rocm = engine / "rocm"
    write(rocm, {"include/hip/hip_runtime.h": ""})
    change_command(engine, "-include", "hip/other.h", "-include", "hip/hip_runtime.h", f"--rocm-path={rocm}",
                   f"-I{rocm}/include")  # fmt: skip
    bundle = bundle_of(engine, build="device")
    assert not any("hip_runtime" in name for name in bundle.files)
    assert "-includehip/other.h" in bundle.options
    assert f"-include{rocm}/include/hip/hip_runtime.h" in bundle.options


def test_a_header_that_is_a_link_is_found_where_it_is_included(engine: Path) -> None:
    """Shared headers are linked into each folder that uses them; the compiler looks there, not at the link's end."""
    write(engine, {"shared/tile.h": "", "kernels/k.hip": '#include "tile.h"\n#include "../kernels/tile.h"\n'})
    (engine / "kernels" / "tile.h").symlink_to("../shared/tile.h")
    change_command(engine)
    assert sorted(bundle_of(engine, build="device").files) == ["k.hip", "tile.h"]


def test_a_header_that_the_build_makes_is_named_while_it_is_not_made(engine: Path) -> None:
    """What is included first must be there before anything is compiled."""
    change_command(engine, "-include", "./build/generated.h")
    with pytest.raises(UsageError, match=r"there is no .*build/generated\.h: .*build the project once"):
        bundle_of(engine, build="device")


def test_a_device_bundle_needs_no_compile_commands(engine: Path) -> None:
    """A file that stands alone is compiled with the test's options."""
    (engine / "compile_commands.json").unlink()
    bundle = bundle_of(engine, build="device", options=["-I../include", "-DN=2"])
    assert bundle.options == ("-DN=2", "-Iinclude")
    assert bundle.build == DeviceBuild()


def test_compile_commands_are_for_device_builds(engine: Path) -> None:
    """Given with anything else they would be ignored in silence."""
    with pytest.raises(UsageError, match='build="device"'):
        bundle_of(engine, compile_commands="compile_commands.json")
    with pytest.raises(UsageError, match="build is one of hiprtc, device, object"):
        bundle_of(engine, build="nvcc")


def test_how_a_plain_source_is_built_does_not_change_its_digest(tmp_path: Path) -> None:
    """Baselines name sources by digests that were taken before there was another way."""
    write(tmp_path, {"kernels/k.hip": ""})
    assert b"build" not in msgspec.json.encode(bundle_of(tmp_path))


@pytest.mark.parametrize("name", ["k.hsaco", "k.co", "k.cubin", "k.hipfb"])
def test_a_code_object_file_is_named_by_its_digest(tmp_path: Path, name: str) -> None:
    """Its bundle is its name and digest; the bytes go with the baseline's objects."""
    (tmp_path / name).write_bytes(b"\x7fELF")
    bundle = collect_bundle(Kernel("k", source=tmp_path / name, tokens=(1,)))
    assert bundle == SourceBundle(name, {}, build=ReadyObject(hashlib.sha256(b"\x7fELF").hexdigest()))
    assert msgspec.json.decode(msgspec.json.encode(bundle), type=SourceBundle) == bundle


def test_a_code_object_that_is_missing_or_has_options_is_one_sentence(tmp_path: Path) -> None:
    """It must be built first, and cannot be compiled again."""
    with pytest.raises(UsageError, match="build it first"):
        collect_bundle(Kernel("k", source=tmp_path / "k.hsaco", tokens=(1,)))
    with pytest.raises(UsageError, match="compiled already"):
        collect_bundle(Kernel("k", source=tmp_path / "k.hsaco", tokens=(1,)), ["-DBROKEN"])
