"""What hiprtc is given and what its log says: include names, options, the first error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.runtime.compile import compile_options, first_error, include_names
from pytest_kernelperf.runtime.hip import Device


def device(runtime: str) -> Device:
    chosen = SimpleNamespace(name=runtime, hiprtc=Path("/nowhere/lib/libhiprtc.so"))
    return cast(Device, SimpleNamespace(chosen=chosen, architecture="gfx1151"))


def test_headers_go_in_under_the_names_that_sources_write() -> None:
    """A header beside its includer is known by both its path and the name written; the main file is not a header."""
    bundle = SourceBundle(
        "k.hip",
        {
            "k.hip": '#include "sub/a.h"\n  # include <tile.h>\n#include <hip/hip_runtime.h>\n',
            "sub/a.h": '#include "b.h"\n#include "../common/c.h"\n',
            "sub/b.h": "int b;",
            "common/c.h": "int c;",
            "include/tile.h": "int tile;",
        },
        options=("-I", "include", "-DX=1"),
    )

    names = include_names(bundle)

    assert set(names) == {
        "sub/a.h", "sub/b.h", "common/c.h", "include/tile.h", "b.h", "../common/c.h", "tile.h",
    }  # fmt: skip
    assert names["b.h"] == "int b;"
    assert names["../common/c.h"] == "int c;"
    assert names["tile.h"] == "int tile;"


def test_a_header_above_the_main_file_keeps_its_name() -> None:
    """Paths may lead out of the kernel's folder: they are names, not files."""
    bundle = SourceBundle("k.hip", {"k.hip": '#include "../shared/x.h"', "../shared/x.h": "int x;"})

    assert include_names(bundle) == {"../shared/x.h": "int x;"}


def test_relative_folders_are_the_bundles_and_absolute_ones_the_systems() -> None:
    """Only absolute -I folders reach the compiler; rocm is told its target, the cpu is not."""
    bundle = SourceBundle("k.hip", {"k.hip": ""}, options=("-I", "include", "-I/opt/x", "-D", "N=3", "-std=c++17"))

    assert compile_options(device("cpu"), bundle) == ["-I/opt/x", "-DN=3", "-std=c++17"]
    assert compile_options(device("rocm"), bundle)[-1] == "--gpu-architecture=gfx1151"
    assert compile_options(device("rocm"), bundle, "gfx1100")[-1] == "--gpu-architecture=gfx1100"


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("k.hip:3:5: warning: unused\nk.hip:7:9: error: use of undeclared identifier 'y'\n  y = 1;\n",
         "k.hip:7: use of undeclared identifier 'y'"),
        ("/tmp/x/k.hip:7: error: bad", "k.hip:7: bad"),
        ("k.hip:1:10: fatal error: a.h: No such file or directory", "k.hip:1: a.h: No such file or directory"),
        ("k.cu(4): error: identifier \"z\" is undefined", "k.cu:4: identifier \"z\" is undefined"),
        ("ld: Error in section\nmore", "ld: Error in section"),
        ("something\nelse\n\n", "else"),
        ("", "the compiler says nothing"),
    ],
)  # fmt: skip
def test_the_first_error_is_one_line(log: str, sentence: str) -> None:
    """File, line and message of the first error; warnings before it and context after it are left to the log."""
    assert first_error(log) == sentence


def test_amds_name_for_the_main_file_is_not_shown() -> None:
    """hiprtc calls every main file CompileSource; the user knows it by its own name."""
    assert first_error("CompileSource:7:9: error: bad", "k.hip") == "k.hip:7: bad"
