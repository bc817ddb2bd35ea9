"""What is taken from a project's compile_commands.json, and what is left."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.command_line import CompileCommand, parse_command
from pytest_kernelperf.compile_commands import find_command
from pytest_kernelperf.errors import UsageError

# As CMake writes it for a HIP source: Ninja, Release, ROCm in a folder of its own.
CMAKE = (
    '/opt/rocm/lib/llvm/bin/clang++ -DENGINE=1 -D NAME=\\"x\\" -DUSE_PROF_API=1 -D__HIP_PLATFORM_AMD__ '
    "-I/home/me/engine/include -I generated -isystem /opt/rocm/include -O3 -DNDEBUG -std=gnu++20 "
    "--offload-arch=gfx1151 --offload-arch=gfx1100 -fPIC -Wall -Wextra -g -ffast-math -fno-gpu-rdc -mllvm "
    "-amdgpu-early-inline-all=true -MD -MT a.o -MF a.o.d -o a.o -x hip -c /home/me/engine/src/scale.hip"
)


def test_what_matters_for_device_code_is_kept_and_the_rest_dropped() -> None:
    """Macros, folders, standard, optimisation and device options; no warnings, outputs, host options, architectures."""
    assert parse_command(shlex.split(CMAKE), Path("/home/me/engine/build")) == CompileCommand(
        compiler="/opt/rocm/lib/llvm/bin/clang++",
        folders=(Path("/home/me/engine/include"), Path("/home/me/engine/build/generated")),
        system_folders=(Path("/opt/rocm/include"),),
        options=(
            "-DENGINE=1", '-DNAME="x"', "-DUSE_PROF_API=1", "-D__HIP_PLATFORM_AMD__", "-O3", "-DNDEBUG",
            "-std=gnu++20", "-ffast-math", "-mllvm=-amdgpu-early-inline-all=true",
        ),
        architecture="gfx1151",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("nvcc -forward-unknown-to-host-compiler -Xcompiler=-fPIC -Xcompiler -Wall --use_fast_math -maxrregcount 64 a",
         ("--use_fast_math", "-maxrregcount=64")),
        ("nvcc --generate-code=arch=compute_90,code=[sm_90] -gencode arch=compute_80,code=sm_80 -std=c++17 a.cu",
         ("-std=c++17",)),
        ("ccache hipcc -Oz -c a.hip", ("-Oz",)),
        ("X=1 hipcc -UX -c a.hip", ("-UX",)),
        ("hipcc -flto=thin -fsanitize=address -fvisibility=hidden -fgpu-rdc -fno-rtti a.hip", ("-fno-rtti",)),
        ("hipcc -mcumode -march=native -m64 -munsafe-fp-atomics a.hip", ("-mcumode", "-munsafe-fp-atomics")),
        ("hipcc -fuse-cuid=hash -fopenmp -Xclang -mlink-builtin-bitcode -Xarch_host -mavx2 -O2 a.hip", ("-O2",)),
        ("nvcc -std c++20 --define-macro=A=1 --define-macro B -dc a.cu", ("-std=c++20", "-DA=1", "-DB")),
        ("clang++ -Xoffload-linker -mllvm -D X --gcc-toolchain=/opt/gcc -stdlib=libc++ --sysroot=/s a.hip",
         ("-DX", "--gcc-toolchain=/opt/gcc", "-stdlib=libc++", "--sysroot=/s")),
        ("nvcc -G -DA --compiler-options -O0 --ptxas-options -O1 --maxrregcount 64 -Xcudafe --x -O3 a.cu",
         ("-DA", "-maxrregcount=64", "-O3")),
        ("nvcc --maxrregcount=32 -maxrregcount=16 a.cu", ("-maxrregcount=32", "-maxrregcount=16")),
        ("hipcc", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_other_commands_are_read_alike(words: str, kept: tuple[str, ...]) -> None:
    """nvcc's options, launchers before the compiler, host options that look like device ones."""
    assert parse_command(words.split(), Path("/b")).options == kept


def test_nvccs_folders_and_response_files_are_read(tmp_path: Path) -> None:
    """CMake puts a CUDA target's include folders into a file of their own."""
    (tmp_path / "includes.rsp").write_text("-I/home/me/include -isystem=/opt/x\n")
    command = parse_command(["nvcc", "--options-file", "includes.rsp", "@missing.rsp", "-c", "a.cu"], tmp_path)
    assert (command.folders, command.system_folders) == ((Path("/home/me/include"),), (Path("/opt/x"),))


@pytest.mark.parametrize(
    ("words", "compiler"),
    [
        ("/opt/rocm/bin/hipcc -c a.hip", "/opt/rocm/bin/hipcc"),
        ("/usr/bin/ccache /opt/rocm/lib/llvm/bin/clang++ -c a.hip", "/opt/rocm/lib/llvm/bin/clang++"),
        ("CCACHE_SLOPPINESS=time_macros ccache hipcc -c a.hip", "hipcc"),
        ("/usr/bin/perl /opt/rocm/bin/hipcc.pl -c a.hip", "/opt/rocm/bin/hipcc.pl"),
        ("cmake -E env HIP_PATH=/opt/rocm hipcc -c a.hip", "hipcc"),
        ("env -u DISPLAY amdclang++ -o clang.o -c a.hip", "amdclang++"),
        ("python3 tools/wrap.py clang++-19 -c a.hip", "clang++-19"),
        ("x86_64-linux-gnu-g++-12 -c a.cpp", "x86_64-linux-gnu-g++-12"),
        ("/usr/local/cuda/bin/nvcc -ccbin g++ -c a.cu", "/usr/local/cuda/bin/nvcc"),
        ("ccache mycompiler -o clang.o a.hip", "mycompiler"),
        ("ccache", ""),
    ],
)
def test_the_compiler_is_found_behind_what_starts_it(words: str, compiler: str) -> None:
    """Caches, environments, interpreters of wrapper scripts; never a file that is called like one."""
    assert parse_command(words.split(), Path("/b")).compiler == compiler


def test_a_header_that_is_included_first_is_looked_for_in_the_include_folders(tmp_path: Path) -> None:
    """The command's own folder comes first; a path that is nowhere is meant to be there, a name is the system's."""
    for folder, names in (("include", ["a.h", "b.h"]), (".", ["b.h"])):
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in names:
            (tmp_path / folder / name).write_text("")
    words = ["hipcc", "-include", "a.h", "-includeb.h", "-include", "./c.h", "-include", "hip/d.h", "-Iinclude"]
    command = parse_command(words, tmp_path)
    assert command.includes == (tmp_path / "include" / "a.h", tmp_path / "b.h", tmp_path / "c.h")
    assert command.options == ("-includehip/d.h",)


def test_cmakes_precompiled_header_is_included_as_what_it_was_made_of() -> None:
    """A precompiled header is the host's; the file that it holds is what the source relies on."""
    words = (
        "hipcc -Winvalid-pch -Xclang -include-pch -Xclang /b/cmake_pch.hxx.pch -Xclang -include -Xclang "
        "/b/cmake_pch.hxx -x hip -include-pch /b/other.pch -DKEPT -c a.hip"
    )
    command = parse_command(words.split(), Path("/b"))
    assert command.includes == (Path("/b/cmake_pch.hxx"),)
    assert command.options == ("-DKEPT",)


def test_a_response_file_that_names_itself_ends(tmp_path: Path) -> None:
    """A damaged project is no endless loop."""
    (tmp_path / "self.rsp").write_text("-DN @self.rsp\n")
    assert set(parse_command(["hipcc", "@self.rsp", "-O2"], tmp_path).options) == {"-DN", "-O2"}


def write_commands(folder: Path, source: Path, *words: str, **changes: Any) -> Path:
    """Write a compile_commands.json that compiles ``source`` with ``words``."""
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"directory": str(folder), "file": str(source), "arguments": ["hipcc", *words], "output": "a.o"} | changes
    (folder / "compile_commands.json").write_text(json.dumps([{"directory": "/x", "file": "other.cpp"}, entry]))
    return folder / "compile_commands.json"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A project's source, below a folder with .git."""
    path = tmp_path / "engine" / "src" / "kernels" / "scale.hip"
    path.parent.mkdir(parents=True)
    path.write_text("")
    (tmp_path / "engine" / ".git").mkdir()
    return path


@pytest.mark.parametrize("place", ["src/kernels", "src", ".", "build", "build/strix"])
def test_the_projects_own_is_found(source: Path, place: str) -> None:
    """Beside the source, above it, and in the build folders that presets make."""
    write_commands(source.parents[2] / place, source, "-DFOUND")
    found = find_command(source)
    assert found is not None
    assert found.options == ("-DFOUND",)


def test_the_newest_build_that_knows_the_source_counts(source: Path) -> None:
    """Of several presets the one configured last; one that does not compile the source is passed over."""
    root = source.parents[2]
    for place, age in (("build/old", 100), ("build/new", 50)):
        path = write_commands(root / place, source, f"-D{place[-3:]}")
        os.utime(path, (1e9 - age, 1e9 - age))
    write_commands(root / "build" / "docs", source.with_name("another.hip"))
    found = find_command(source)
    assert found is not None
    assert found.options == ("-Dnew",)


def test_what_lies_above_the_project_is_not_its_own(source: Path) -> None:
    """The search ends where the repository does."""
    write_commands(source.parents[3], source, "-DSTRANGER")
    assert find_command(source) is None


def test_paths_in_an_entry_are_relative_to_its_folder(source: Path) -> None:
    """The file and its include folders, as CMake writes them for some generators."""
    build = source.parents[2] / "build"
    relative = os.path.relpath(source, build)
    write_commands(build, source, "-I../include", file=relative)
    found = find_command(source)
    assert found is not None
    assert found.folders == (source.parents[2] / "include",)


def test_of_two_entries_the_one_for_devices_counts(source: Path) -> None:
    """A file may be compiled for the host as well, as tests of shared code do."""
    build = source.parents[2] / "build"
    build.mkdir()
    entries = [
        {"directory": str(build), "file": str(source), "command": f"g++ -DHOST -x c++ -c {source}"},
        {"directory": str(build), "file": str(source), "command": f"clang++ -DDEVICE -x hip -c {source}"},
    ]
    (build / "compile_commands.json").write_text(json.dumps(entries))
    found = find_command(source)
    assert found is not None
    assert found.options == ("-DDEVICE",)


def test_a_command_among_others_is_found_with_its_folder(source: Path) -> None:
    """Ninja's own list has whole command lines of custom rules."""
    build = source.parents[2] / "build"
    build.mkdir()
    line = f"cd /elsewhere && mkdir -p x && hipcc -DIN -Iinclude -c {source} -o x/a.o && touch stamp"
    entry = {"directory": str(build), "file": str(source), "command": line}
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    found = find_command(source)
    assert found is not None
    assert (found.compiler, found.options, found.folders) == ("hipcc", ("-DIN",), (Path("/elsewhere/include"),))


def test_spaces_and_quotes_in_paths_are_no_obstacle(tmp_path: Path) -> None:
    """In a command line, in arguments, and in a response file that is not UTF-8."""
    folder = tmp_path / "my engine"
    source = folder / "src" / "swiglu fused.hip"
    source.parent.mkdir(parents=True)
    source.write_text("")
    (folder / "flags.rsp").write_bytes(b'-I"../a b/include" "-DNAME=\\"x y\\"" -DLATIN=\xe9\n')
    command = f'hipcc @flags.rsp -I"{folder}/c d" -c "{source}"'
    for entry in ({"command": command}, {"arguments": shlex.split(command)}):
        write_commands(folder, source, arguments=[], **entry) if "command" in entry else write_commands(
            folder, source, **entry
        )
        found = find_command(source)
        assert found is not None
        assert found.folders == (tmp_path / "a b" / "include", folder / "c d")
        assert found.options[0] == '-DNAME="x y"'


@pytest.mark.parametrize("text", ["-DA='", '-DA="b'])
def test_a_command_whose_quotes_do_not_end_is_one_sentence(source: Path, text: str) -> None:
    """In the entry, and in a response file that it names."""
    build = source.parents[2] / "build"
    write_commands(build, source, arguments=[], command=f"hipcc {text} {source}")
    with pytest.raises(UsageError, match=r"the command of .*scale\.hip cannot be read"):
        find_command(source)
    write_commands(build, source, "@flags.rsp")
    (build / "flags.rsp").write_text(text)
    with pytest.raises(UsageError, match=r"the command of .*scale\.hip cannot be read"):
        find_command(source)


def test_one_that_was_given_must_name_the_source(source: Path, tmp_path: Path) -> None:
    """A wrong path or a stale build is one sentence, never a compile without flags."""
    with pytest.raises(UsageError, match="CMAKE_EXPORT_COMPILE_COMMANDS"):
        find_command(source, tmp_path / "nowhere")
    write_commands(tmp_path / "given", source.with_name("another.hip"))
    with pytest.raises(UsageError, match=r"does not compile .*scale\.hip"):
        find_command(source, tmp_path / "given")


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', '[{"file": "x"}]', '[{"directory": 1, "file": "x"}]'])
def test_a_damaged_file_is_one_sentence(source: Path, text: str) -> None:
    """Path and what to do."""
    path = source.parents[2] / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"compile_commands\.json cannot be read .*configure the project again"):
        find_command(source)
