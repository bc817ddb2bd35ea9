"""A kernel's source as a bundle: what goes in, and what it is compiled with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf import Kernel
from pytest_kernelperf.errors import UsageError
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


def test_a_bundle_does_not_say_where_the_project_is(tmp_path: Path) -> None:
    """The same files in two folders are one bundle."""
    for name in ("one", "two"):
        write(tmp_path / name, {"kernels/k.hip": '#include "near.h"\n', "kernels/near.h": ""})
    assert bundle_of(tmp_path / "one").digest == bundle_of(tmp_path / "two").digest


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One sentence with the path."""
    with pytest.raises(UsageError, match=r"cannot read .*k\.hip"):
        bundle_of(tmp_path)
