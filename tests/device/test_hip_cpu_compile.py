"""Compiling for the cpu runtime: options, headers, messages, the cache, and compilers that are not there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hip_cpu_calls import COMPILATION, HipCpu, HipFailure

KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }'


@pytest.fixture(scope="module")
def hip() -> HipCpu:
    """The runtime."""
    return HipCpu()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernelperf" / "hip_cpu"


def child(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program with the helpers in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_options_reach_the_compiler(hip: HipCpu, tmp_path: Path) -> None:
    """-D, -U, -I and -std do what they do elsewhere; a GPU's options are taken and mean nothing here."""
    (tmp_path / "size.h").write_text("#define SIZE 30\n")
    source = """
    #include <size.h>
    #ifdef GONE
    #error "not gone"
    #endif
    extern "C" __global__ void k(float* x) { x[0] = VALUE + SIZE; x[1] = (float)__cplusplus; }
    """
    options = ["-DVALUE=(4)", "-D", "GONE", "-U", "GONE", f"-I{tmp_path}", "-std=c++20"]
    options += ["--gpu-architecture=gfx1151", "-O2"]
    (out,) = hip.run(source, "k", (1,), (1,), np.zeros(2, np.float32), options=options)
    assert out[0] == 34
    assert out[1] >= 201709
    with pytest.raises(HipFailure) as caught:
        hip.compile(source, "--frobnicate")
    assert caught.value.code == 5
    assert "'--frobnicate'" in caught.value.log


def test_headers_travel_with_the_source(hip: HipCpu) -> None:
    """Headers given by name are found with quotes and brackets, in folders, and include each other."""
    headers = {
        "shape.h": '#pragma once\n#include "deep/more.h"\n',
        "deep/more.h": "#include <deep/most.h>\n",
        "deep/most.h": "constexpr int kValue = 9;\n",
    }
    source = '#include "shape.h"\nextern "C" __global__ void k(float* x) { x[0] = kValue; }'
    headers["kernels/shape.h"] = headers["shape.h"]
    module = hip.load(hip.compile(source, name="kernels/mine.hip", headers=headers))
    x = hip.upload(np.zeros(1, np.float32))
    hip.launch(hip.function(module, "k"), (1,), (1,), x)
    assert hip.download(x, np.zeros(1, np.float32))[0] == 9
    with pytest.raises(HipFailure) as caught:
        hip.compile(source, headers={"../shape.h": ""})
    assert caught.value.code == 3
    assert "leads out of the source's folder" in caught.value.log
    with pytest.raises(HipFailure) as missing:
        hip.compile(source, name="mine.hip")
    assert "mine.hip:1" in missing.value.log
    assert "shape.h" in missing.value.log


MISTAKES = {
    "an unknown name in a kernel": ("\n\n" + KERNEL.replace("= 1", "= oops"), 3, "oops"),
    "a mistake after a kernel": (KERNEL + "\nint wrong = ;\n", 2, "expected"),
    "a mistake in a macro's arguments": (
        "#define TWICE(x) (2 * (x))\n\n" + KERNEL.replace("= 1", "= TWICE(oops)"), 3, "oops",
    ),
    "a mistake on a later line of a kernel": (KERNEL.replace("{", "{\n\n\n oops();"), 4, "oops"),
    "a mistake among the parameters": (KERNEL.replace("(float* x", "(\n  int n,\n  Oops* o,\n  float* x"), 3, "Oops"),
    "a mistake in a loop run for all threads": (
        KERNEL.replace("{", "{\nfor (int c = threadIdx.x; c < 9; c += blockDim.x)\n{\n x[c] = oops; }"), 4, "oops",
    ),
    "a kernel that returns": ('\nextern "C" __global__ int k() { return 1; }', 2, "a kernel must return void"),
    "a kernel in a class": ("struct S {\n __global__ static void k(); };", 2, "__global__ is only understood"),
    "a bracket that does not close": (KERNEL + "\nint f() {\n", 2, "{"),
    "a parameter that cannot be copied as bytes": (
        "struct S { S(const S&); int x; };\nextern \"C\" __global__ void k(S s) {}", 2, "trivially copyable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_log_names_the_users_file_and_line(hip: HipCpu, mistake: str) -> None:
    """Whatever is rewritten on the way, a message is about the source as it was given."""
    source, line, words = MISTAKES[mistake]
    with pytest.raises(HipFailure) as caught:
        hip.compile(source, name="folder/mine.hip")
    assert caught.value.code == COMPILATION
    assert f"folder/mine.hip:{line}:" in caught.value.log
    assert words in caught.value.log
    assert "error" in caught.value.log


def test_warnings_come_with_success_too(hip: HipCpu, cache: Path) -> None:
    """The log of a successful compile holds its warnings, from the cache as well; without any it is empty."""
    source = KERNEL.replace("{", "{\n#warning careful here\n")
    logs = [hip.compile(source, name="mine.hip").log for _ in range(2)]
    assert "mine.hip:2" in logs[0]
    assert "careful here" in logs[0]
    assert logs[0] == logs[1]
    assert hip.compile(KERNEL).log == ""
    assert len(list(cache.iterdir())) == 2


def test_the_same_source_gives_the_same_bytes_without_any_path(
    hip: HipCpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two compiles in different folders give one object, which names no folder of this machine."""
    objects = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / run / "cache"))
        monkeypatch.setenv("TMPDIR", str(tmp_path / run))
        objects.append(hip.compile(KERNEL, expressions=["k"]).object)
    assert objects[0] == objects[1]
    assert objects[0][:8] == b"KPCPUOBJ"
    for word in (str(tmp_path), "/tmp/", "kernelperf-", str(Path.cwd())):
        assert word.encode() not in objects[0]


def test_the_cache_answers_for_the_same_content_only(hip: HipCpu, cache: Path) -> None:
    """Source, options, headers and expressions each make another entry; comments do not."""
    header = {"h.h": "#define V 1\n"}
    source = '#include "h.h"\n' + KERNEL.replace("= 1", "= V")
    hip.compile(source, headers=header)
    hip.compile(source, headers=header)
    assert len(list(cache.iterdir())) == 1
    hip.compile(source, headers={"h.h": "#define V 2\n"})
    hip.compile(source, "-DV2", headers=header)
    assert len(list(cache.iterdir())) == 2
    hip.compile(source, headers=header, expressions=["k"])
    hip.compile(source, "-std=c++20", headers=header)
    assert len(list(cache.iterdir())) == 4


def test_a_damaged_cache_file_is_compiled_anew(hip: HipCpu, cache: Path) -> None:
    """Cut-off or altered files are replaced, not believed."""
    whole = hip.compile(KERNEL).object
    (entry,) = cache.iterdir()
    good = entry.read_bytes()
    for bad in (good[:100], good[:-1], good[:2000] + b"\x00\x01" + good[2002:], b""):
        entry.write_bytes(bad)
        assert hip.compile(KERNEL).object == whole
        assert entry.read_bytes() == good


def test_several_processes_share_the_cache(cache: Path) -> None:
    """Processes that compile the same at once all get it, and leave whole files only."""
    program = f"""
    from hip_cpu_calls import HipCpu
    hip = HipCpu()
    for n in range(3):
        module = hip.load(hip.compile({KERNEL!r} + f"\\nextern \\"C\\" int value = {{n}};"))
        hip.function(module, "k")
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    processes = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [process.wait(timeout=300) for process in processes] == [0] * 4
    assert len(list(cache.iterdir())) == 3
    assert not [entry for entry in cache.iterdir() if entry.name.startswith(".")]


def test_no_cache_folder_is_no_failure(hip: HipCpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where nothing can be written, kernels are compiled every time."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    assert hip.compile(KERNEL).object
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert hip.compile(KERNEL).object


def test_a_missing_compiler_is_one_sentence(tmp_path: Path) -> None:
    """Without any compiler in PATH, or with one that does not work, compiling fails with the way out."""
    program = f"""
    from hip_cpu_calls import HipCpu, HipFailure
    try:
        HipCpu().compile({KERNEL!r})
    except HipFailure as failure:
        print(failure.code, failure.log)
    """
    (tmp_path / "c++").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "c++").chmod(0o755)
    nothing_in_path = {"PATH": str(tmp_path), "KERNELPERF_CXX": ""}
    for variables in (nothing_in_path, {"KERNELPERF_CXX": "no-such-compiler"}, {"KERNELPERF_CXX": "/bin/true"}):
        done = child(program, **variables)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{COMPILATION} ")
        assert len(done.stdout.splitlines()) == 1
        assert "KERNELPERF_CXX" in done.stdout


def test_no_folder_to_compile_in_is_not_blamed_on_the_compiler(tmp_path: Path) -> None:
    """The folder is named; whoever has a compiler would look for it in vain."""
    program = f"""
    from hip_cpu_calls import HipCpu, HipFailure
    try:
        HipCpu().compile({KERNEL!r})
    except HipFailure as failure:
        print(failure.log)
    """
    done = child(program, TMPDIR=str(tmp_path / "missing"))
    assert f"no file can be written below {tmp_path / 'missing'}" in done.stdout, done.stderr
    assert "TMPDIR" in done.stdout
    assert "compiler was found" not in done.stdout


def test_what_a_compiler_says_of_our_own_flags_is_not_the_kernels(tmp_path: Path) -> None:
    """A compiler that finds -march=native strange on a new CPU is told not to say so; a kernel's warnings stay."""
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *-Wno-invalid-feature-combination*|*--version*) ;;\n'
        '*) echo "warning: invalid feature combination: +avx10.1-256" >&2;; esac\nexec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    program = f"""
    from hip_cpu_calls import HipCpu
    hip = HipCpu()
    print(repr(hip.compile({KERNEL!r}).log))
    print("#warning" in hip.compile("#warning of the kernel\\n" + {KERNEL!r}).log)
    """
    done = child(program, KERNELPERF_CXX=str(compiler))
    assert done.stdout.splitlines() == ["''", "True"], done.stderr


def test_compilers_die_with_their_process(tmp_path: Path) -> None:
    """A compile under way does not outlive the process that asked for it."""
    compiler = tmp_path / "slow"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo "g++ 1.2.3 Free Software Foundation"; exit 0;;\n'
        "*-E*) ;; *) echo > probe.so; exit 0;; esac\n"
        f"echo $$ > {tmp_path}/pid\nexec sleep 600\n"
    )
    compiler.chmod(0o755)
    program = f"from hip_cpu_calls import HipCpu\nHipCpu().compile({KERNEL!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "KERNELPERF_CXX": str(compiler)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
    process.kill()
    process.wait()
    status = Path(f"/proc/{pid.read_text().strip()}/status")
    while status.exists() and "zombie" not in status.read_text():
        pass


def other_compilers() -> list[str]:
    """Compilers on this machine besides the one that is used by itself."""
    names = ["g++", "clang++", *(f"clang++-{n}" for n in range(25, 13, -1))]
    found = {}
    for name in names:
        path = shutil.which(name)
        if path is not None:
            found.setdefault(os.path.realpath(path), name)
    return list(found.values())


@pytest.mark.parametrize("compiler", other_compilers())
def test_each_compiler_here_gives_working_kernels(compiler: str, cache: Path) -> None:
    """The rewriting suits g++ and clang++: templates, loops run for a workgroup, parameters, names."""
    program = """
    import ctypes, numpy as np
    from hip_cpu_calls import HipCpu
    hip = HipCpu()
    source = '''
    template <class T> __global__ void scale(T* x, int n) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
    }
    __global__ void rows(float* x, double, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < 1000) x[i] = fmaf(x[i], i / n, i % n);
    }
    '''
    compiled = hip.compile(source, expressions=["scale<float>"])
    assert compiled.log == "", compiled.log
    module = hip.load(compiled)
    x = hip.upload(np.arange(1000, dtype=np.float32))
    hip.launch(hip.function(module, compiled.lowered["scale<float>"]), (1,), (128,), x, ctypes.c_int(1000))
    hip.launch(hip.function(module, "_Z4rowsPfdi"), (8,), (128,), x, ctypes.c_double(1), ctypes.c_int(100))
    i = np.arange(1000)
    assert (hip.download(x, np.zeros(1000, np.float32)) == 2 * i * (i // 100) + i % 100).all()
    print(hip.hiprtc.kernelperf_cpu_compiler().decode())
    """
    done = child(program, KERNELPERF_CXX=compiler)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("clang++ " if "clang" in compiler else "g++ ")
