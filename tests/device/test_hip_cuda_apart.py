"""What NVRTC does not forget is compiled in a process of its own; a stand-in that forgets nothing stands for NVRTC."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hip_cuda_calls
import pytest

import pytest_kernelperf
from pytest_kernelperf.errors import RuntimeUnavailable

SUCCESS, COMPILATION, INTERNAL_ERROR = 0, 6, 11

NVRTC = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int restricted;  /* as NVRTC 13.0 keeps it */
static const char *source;
static char code[80], lowered[80];
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
const char *nvrtcGetErrorString(int error) { return error ? "it failed" : "it did not"; }
int nvrtcCreateProgram(void **program, const char *text) { source = text; *program = &restricted; return 0; }
int nvrtcDestroyProgram(void **program) { return 0; }
int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    int cached = 1;
    for (int i = 0; i < count; i++) {
        if (!strcmp(options[i], "--restrict") || !strcmp(options[i], "-restrict")) restricted = 1;
        if (!strcmp(options[i], "--no-cache")) cached = 0;
    }
    if (strstr(source, "dies")) raise(SIGKILL);
    if (strstr(source, "leaves")) exit(3);
    sprintf(code, "%s, %s", restricted ? "restricted" : "plain", cached ? "cached" : "anew");
    return strstr(source, "wrong") ? 6 : 0;
}
int nvrtcAddNameExpression(void *program, const char *name) { return 0; }
int nvrtcGetLoweredName(void *program, const char *name, const char **found) {
    sprintf(lowered, "lowered_%s", name);
    *found = lowered;
    return 0;
}
int nvrtcGetProgramLogSize(void *program, size_t *size) { *size = 9; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { strcpy(log, "the log\n"); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { *size = strlen(code); return 0; }
int nvrtcGetCUBIN(void *program, char *bytes) { memcpy(bytes, code, strlen(code)); return 0; }
"""

PROGRAM = """
import json, sys
from hip_cuda_calls import compile_hip
for source, *options in json.loads(sys.argv[1]):
    made = compile_hip(source, *options, expressions=("one<int>", "two<int>"))
    print(json.dumps([made.result, made.code.decode(), made.log, made.lowered]))
"""


@pytest.fixture(scope="module")
def nvrtc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, built."""
    try:
        hip_cuda_calls.hiprtc()
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("nvrtc")
    (folder / "nvrtc.c").write_text(NVRTC)
    library = folder / "libnvrtc.so.13"
    subprocess.run(["cc", "-shared", "-fPIC", str(folder / "nvrtc.c"), "-o", str(library)], check=True)
    return library


def compile_all(nvrtc: Path, *programs: tuple[str, ...]) -> list[list[Any]]:
    """Compile one after the other in one process: result, code, log and lowered names of each."""
    search = [Path(hip_cuda_calls.__file__).parent, *(Path(path).parent for path in pytest_kernelperf.__path__)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, search)), "KERNELPERF_NVRTC": str(nvrtc)}
    command = [sys.executable, "-c", PROGRAM, json.dumps(programs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_restrict_is_forgotten_and_its_code_comes_from_no_cache(nvrtc: Path) -> None:
    """In either spelling; all that the compiler said comes back from its process."""
    found = compile_all(nvrtc, ("a",), ("b", "--restrict"), ("c",), ("d", "-restrict"), ("e", "-DX=1"))

    assert [code for _, code, _, _ in found] == [
        "plain, cached", "restricted, anew", "plain, cached", "restricted, anew", "plain, cached",
    ]  # fmt: skip
    names = {"one<int>": "lowered_one<int>", "two<int>": "lowered_two<int>"}
    assert [(result, log, lowered) for result, _, log, lowered in found] == [(SUCCESS, "the log\n", names)] * 5


def test_source_that_is_wrong_is_refused_as_it_would_be_here(nvrtc: Path) -> None:
    """The compiler's result and log."""
    here, apart = compile_all(nvrtc, ("wrong",), ("wrong", "--restrict"))

    assert here == apart
    assert here[0] == COMPILATION
    assert here[2] == "the log\n"


@pytest.mark.parametrize(
    ("source", "sentence"), [("dies", "NVRTC's process died of Killed"), ("leaves", "NVRTC's process ended without an")]
)
def test_a_compiler_that_dies_is_one_sentence_and_the_next_program_compiles(
    nvrtc: Path, source: str, sentence: str
) -> None:
    """Killed for its memory, say: whoever asked lives on."""
    died, after = compile_all(nvrtc, (source, "--restrict"), ("a",))

    assert died[0] == INTERNAL_ERROR
    assert died[2].startswith(f"error: {sentence}")
    assert after[:2] == [SUCCESS, "plain, cached"]
