"""What HIP on CUDA makes of CUPTI's records, handed out by a stand-in CUPTI; no GPU is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hip_cuda_recording import ADD, ADD_TOLD, NODE, NODE_TOLD, traced
from hip_cuda_stand_in import build_cupti, build_driver

from pytest_kernelperf.errors import RuntimeUnavailable

UNKNOWN = (
    "failed with CUPTI_ERROR_UNKNOWN (999): NVIDIA's CUPTI documentation says what this driver or GPU does not allow; "
    "without a trace all else works"
)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Skip where the library was not built."""
    try:
        from pytest_kernelperf.native import native_path

        native_path("hip_cuda/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stand-in libcuda.so.1."""
    return build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in libcupti.so.13."""
    return build_cupti(tmp_path_factory.mktemp("cupti") / "libcupti.so.13")


@pytest.mark.parametrize(
    ("version", "record_bytes"),
    [(18, 208), (24, 208), (28, 208), (130001, 216), (130202, 224), (130400, 232), (130500, 248), (139900, 400)],
)
def test_each_layout_of_cuda_12_and_13_is_read(driver: Path, cupti: Path, version: int, record_bytes: int) -> None:
    """Times, shape, resources, stream, channel and graph of each record, exactly."""
    told = traced(
        "stopped = record()\nprint((stopped, [told(d) for d in take()], lost()))",
        driver,
        cupti,
        STAND_IN_CUPTI_VERSION=str(version),
        STAND_IN_CUPTI_BYTES=str(record_bytes),
        STAND_IN_CUPTI_RECORDS=f"{ADD};{NODE}",
    )

    assert told == ((0, ""), [ADD_TOLD, NODE_TOLD], 0)


@pytest.mark.parametrize("version", [0, 17, 29, 120000, 140000])
def test_a_version_with_an_unknown_layout_is_refused(driver: Path, cupti: Path, version: int) -> None:
    """Neither guessed nor crashed: the sentence names the file, its version and what is known."""
    said = traced("print(start())", driver, cupti, STAND_IN_CUPTI_VERSION=str(version))

    assert said == (
        1,
        f"the CUPTI library that KERNELPERF_CUPTI names cannot be used ({cupti} is CUPTI version {version}, and the "
        "kernel records of CUDA 12 and 13 alone are known here): give the path of libcupti.so, or unset it",
    )


@pytest.mark.parametrize(("version", "record_bytes", "least"), [(28, 200, 208), (130001, 208, 216)])
@pytest.mark.parametrize("records", [ADD, f"{ADD};{NODE}"])
def test_records_smaller_than_their_version_says_give_nothing(
    driver: Path, cupti: Path, version: int, record_bytes: int, least: int, records: str
) -> None:
    """A layout that is not the expected one, first or last in its buffer: no dispatch of it can be believed."""
    told = traced(
        "print((record(), take()))",
        driver,
        cupti,
        STAND_IN_CUPTI_VERSION=str(version),
        STAND_IN_CUPTI_BYTES=str(record_bytes),
        STAND_IN_CUPTI_RECORDS=f"{NODE}|{records}",
    )

    assert told == (
        (
            1,
            f"CUPTI's record of a kernel has {record_bytes} bytes, not the {least} or more of its version {version} "
            f"({cupti}): set KERNELPERF_CUPTI to a CUPTI of the driver's CUDA version",
        ),
        [],
    )


def test_buffers_in_any_order_become_one_in_time(driver: Path, cupti: Path) -> None:
    """CUPTI's thread hands buffers out as they fill: what is taken is in the order of its starts, in portions."""
    records = [f"10,k{i % 3},{1000 + 10 * i},{1005 + 10 * i},7,1,{i},0,0,1,1,1,1,1,1,0,0,1,0" for i in range(12)]
    shuffled = "|".join(";".join(records[begin : begin + 4]) for begin in (8, 0, 4))

    told = traced(
        "record()\nparts = [take(5), take(5), take(5), take(5)]\n"
        "print([[(d.correlation, kernel(d.kernel)) for d in part] for part in parts])",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=shuffled,
    )

    expected = [(i, f"k{i % 3}") for i in range(12)]
    assert told == [expected[:5], expected[5:10], expected[10:], []]


def test_what_could_not_be_kept_is_counted(driver: Path, cupti: Path) -> None:
    """Records that CUPTI dropped, that have no time, and kernels that had not ended."""
    untimed, unended = ADD.replace("1000,2500", "0,0"), ADD.replace("1000,2500", "1000,0")

    told = traced(
        "stopped = record()\nprint((stopped, [told(d) for d in take()], lost()))",
        driver,
        cupti,
        STAND_IN_CUPTI_DROPPED="5",
        STAND_IN_CUPTI_RECORDS=f"{untimed};{ADD}|{unended}",
    )

    assert told == ((0, ""), [ADD_TOLD], 7)


def test_an_incomplete_record_ends_its_buffer_and_is_counted(driver: Path, cupti: Path) -> None:
    """As CUPTI says it: what lies behind it cannot be found, what lies before it and in other buffers can."""
    told = traced(
        "stopped = record()\nprint((stopped, [told(d) for d in take()], lost()))",
        driver,
        cupti,
        STAND_IN_CUPTI_CUT="1",
        STAND_IN_CUPTI_RECORDS=f"{NODE};{ADD}|{ADD}",
    )

    assert told == ((0, ""), [ADD_TOLD, NODE_TOLD], 2)


def test_records_that_cannot_be_read_on_give_nothing(driver: Path, cupti: Path) -> None:
    """An unknown failure in the middle of a buffer: what came before it is not handed out as if it were all."""
    told = traced(
        "print((record(), take()))",
        driver,
        cupti,
        STAND_IN_CUPTI_CUT="1",
        STAND_IN_CUPTI_CUT_RESULT="999",
        STAND_IN_CUPTI_RECORDS=f"{ADD};{NODE}",
    )

    assert told == ((1, f"CUPTI's cuptiActivityGetNextRecord {UNKNOWN}"), [])


def test_a_recording_has_an_end(driver: Path, cupti: Path) -> None:
    """No more dispatches are kept than the start said; those beyond are counted."""
    told = traced(
        "start(3)\nprint((stop(), lost(), [told(d) for d in take()]))",
        driver,
        cupti,
        STAND_IN_CUPTI_REPEAT="2",
        STAND_IN_CUPTI_RECORDS=f"{ADD};{ADD};{NODE}",
    )

    assert told == ((0, ""), 3, [ADD_TOLD, ADD_TOLD, NODE_TOLD])


def test_many_buffers_are_read_and_given_back(driver: Path, cupti: Path) -> None:
    """300 of them, more than are in CUPTI's hands at a time: each is free again once it is read."""
    told = traced(
        "record()\nprint((lost(), len(take(1000))))",
        driver,
        cupti,
        STAND_IN_CUPTI_REPEAT="300",
        STAND_IN_CUPTI_RECORDS=ADD,
    )

    assert told == (0, 300)


def test_a_full_buffer_drops_what_is_over(driver: Path, cupti: Path) -> None:
    """A buffer holds 1 MiB: 10 records of 100,000 bytes; CUPTI counts the eleventh, and we with it."""
    told = traced(
        "record()\nprint((lost(), len(take())))",
        driver,
        cupti,
        STAND_IN_CUPTI_BYTES="100000",
        STAND_IN_CUPTI_RECORDS=";".join([ADD] * 11),
    )

    assert told == (1, 10)


def test_kernels_of_one_name_are_told_apart_by_what_they_need(driver: Path, cupti: Path) -> None:
    """Two code objects may hold the same name: other registers, another number, the same name."""
    told = traced(
        "record()\nprint([(d.kernel, kernel(d.kernel)) for d in take()])",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=f"{ADD};{ADD.replace(',32,16', ',40,16')};{ADD}",
    )

    assert told == [(1, "_Z3addPKfPfi"), (2, "_Z3addPKfPfi"), (1, "_Z3addPKfPfi")]


def test_records_of_other_kinds_are_passed_over(driver: Path, cupti: Path) -> None:
    """Kind 3 is a kernel too, of a mode that was not asked for."""
    told = traced(
        "record()\nprint(([told(d) for d in take()], lost()))",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=f"3{NODE[2:]};{ADD}",
    )

    assert told == ([ADD_TOLD], 0)


def test_times_are_the_systems_boot_time(driver: Path, cupti: Path) -> None:
    """The clock is registered with CUPTI before kernels are: one clock for all records of a process."""
    told = traced(
        "import time\nstart()\nbefore = time.clock_gettime_ns(time.CLOCK_BOOTTIME)\nstop()\n"
        "after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)\n"
        "print([(before <= d.start <= after, d.end - d.start, d.thread) for d in take()])",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=ADD.replace("1000,2500", "now,0"),
    )

    assert told == [(True, 1000, 0)]


def test_after_the_end_nothing_is_recorded_any_more(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """The device is waited for, the kind switched off, and only then everything flushed, also what is incomplete."""
    log = tmp_path / "log"

    traced("record()\nrecord()\nprint(0)", driver, cupti, STAND_IN_LOG=str(log))

    once = [
        "cuptiActivityRegisterCallbacks",
        "cuptiActivityRegisterTimestampCallback",
        "enable 10",
        "disable 10",
        "flush 1",
    ]
    assert [line for line in log.read_text().splitlines() if not line.startswith(("retain", "current"))] == once * 2


def test_a_second_recording_starts_empty(driver: Path, cupti: Path) -> None:
    """What was not taken of the first is gone, what it lost too; kernels keep their numbers."""
    told = traced(
        "record()\nfirst = take(1)[0].kernel\nrecord()\nagain = take()\n"
        "print(([kernel(d.kernel) for d in again], again[0].kernel == first, lost()))",
        driver,
        cupti,
        STAND_IN_CUPTI_DROPPED="5",
        STAND_IN_CUPTI_RECORDS=f"{ADD};{NODE}",
    )

    assert told == (["_Z3addPKfPfi", "inject"], True, 0)


def test_a_kernel_without_a_name_has_an_empty_one(driver: Path, cupti: Path) -> None:
    """And numbers that no record has are none."""
    told = traced(
        "record()\nprint([kernel(d.kernel) for d in take()] + [kernel(0), kernel(2), kernel(2**63)])",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=ADD.replace("_Z3addPKfPfi", "-"),
    )

    assert told == ["", None, None, None]


def test_starts_and_stops_out_of_turn_are_refused(driver: Path, cupti: Path) -> None:
    """Each with its sentence; the recording that runs goes on, and gives nothing before its end."""
    told = traced(
        "early = stop()\nstart()\nagain = start()\nbetween = take(), hip.kernelperfTraceProblem().decode()\n"
        "print((early, again, between, stop(), len(take())))",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=ADD,
    )

    assert told == (
        (1, "no kernels are recorded: begin a recording first (kernelperfTraceStart)"),
        (1, "kernels are recorded already: end that recording first (kernelperfTraceStop)"),
        ([], "kernels are still recorded: end the recording first (kernelperfTraceStop)"),
        (0, ""),
        1,
    )


@pytest.mark.parametrize("call", ["RegisterCallbacks", "RegisterTimestampCallback", "Enable"])
def test_a_call_that_fails_at_the_start_is_named(driver: Path, cupti: Path, call: str) -> None:
    """Nothing is recorded then, and a later stop says so."""
    told = traced(
        "print((start(), stop()[0], take()))",
        driver,
        cupti,
        STAND_IN_CUPTI_FAIL=f"cuptiActivity{call}=999",
        STAND_IN_CUPTI_RECORDS=ADD,
    )

    assert told == ((1, f"CUPTI's cuptiActivity{call} {UNKNOWN}"), 1, [])


@pytest.mark.parametrize(("call", "kept"), [("Disable", 1), ("FlushAll", 1), ("GetNextRecord", 0)])
def test_a_call_that_fails_at_the_end_is_named(driver: Path, cupti: Path, tmp_path: Path, call: str, kept: int) -> None:
    """The rest is done all the same: switched off and flushed; the next recording may begin."""
    log = tmp_path / "log"
    told = traced(
        "print((record(), len(take()), start()))",
        driver,
        cupti,
        STAND_IN_CUPTI_FAIL=f"cuptiActivity{call}=999",
        STAND_IN_CUPTI_RECORDS=ADD,
        STAND_IN_LOG=str(log),
    )

    assert told == ((1, f"CUPTI's cuptiActivity{call} {UNKNOWN}"), kept, (0, ""))
    assert "disable 10\nflush 1\n" in log.read_text()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39): another profiler traces this process already"),
        (35, "an unknown result (35): let this user profile: set the driver module's NVreg_RestrictProfilingToAdmin"),
        (15, "an unknown result (15): use the CUPTI of the driver's CUDA version (KERNELPERF_CUPTI)"),
    ],
)
def test_refusals_that_have_a_remedy_say_it(driver: Path, cupti: Path, code: int, sentence: str) -> None:
    """Another profiler, missing rights, another CUDA."""
    _, said = traced("print(start())", driver, cupti, STAND_IN_CUPTI_FAIL=f"cuptiActivityEnable={code}")

    assert sentence in said


def test_a_device_that_failed_while_recording_is_named(driver: Path, cupti: Path) -> None:
    """A kernel's fault comes out when the device is waited for; CUPTI is switched off all the same."""
    told = traced("print(record())", driver, cupti, STAND_IN_FAIL="cuCtxSynchronize=716")

    assert told == (1, "the kernels that were recorded did not end well: CUDA_ERROR_MISALIGNED_ADDRESS")


RECORDER = """
from pathlib import Path
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import Chosen
from pytest_kernelperf.runtime.recorder import Recorder
folder = native_path("hip_cuda/lib")
device = Device(Chosen("cuda", folder / "libamdhip64.so", folder / "libhiprtc.so")).__enter__()
recorder = Recorder(device)
"""


def test_a_recording_becomes_a_trace_that_is_read_like_any_other(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """Through the recorder into a file: names with arguments, workgroups, graph nodes, streams, and whose times."""
    pytest.importorskip("rocm.bindings.hip", reason="hip-python 10 is not installed")
    program = f"""
import sqlite3
from pytest_kernelperf.trace.write import write_trace
with recorder:
    pass
recording = recorder.take(device.facts(), command="a test")
write_trace(Path({str(tmp_path)!r}) / "a.db", recording)
rows = sqlite3.connect({str(tmp_path / "a.db")!r}).execute(
    'select name, start, "end", grid_x, grid_y, workgroup_x, stream_id, queue_id, graph_exec_id, graph_node_id,'
    ' vgpr_count, static_lds_size, corr_id from kernels').fetchall()
print((rows, recording.origin, recording.lost))
"""
    told = traced(RECORDER + program, driver, cupti, STAND_IN_CUPTI_DROPPED="2", STAND_IN_CUPTI_RECORDS=f"{NODE}|{ADD}")

    assert told == (
        [
            ("add(float const*, float*, int)", 1000, 2500, 10240, 1, 256, 7, 3, 0, 0, 32, 128, 41),
            ("inject", 2600, 2900, 640, 8, 64, 13, 5, 6, 2**33 + 1, 65535, 0, 42),
        ],
        "cupti",
        2,
    )
    assert (tmp_path / "a.db.json").read_text() == '{"version":1,"origin":"cupti"}\n'


def test_without_cupti_the_recorder_says_the_librarys_sentence(driver: Path) -> None:
    """As an error of the device, which a case's note can hold."""
    pytest.importorskip("rocm.bindings.hip", reason="hip-python 10 is not installed")
    program = """
try:
    recorder.start()
except KernelperfError as error:
    print((type(error).__name__, str(error)))
"""
    name, said = traced(RECORDER + program, driver, Path("/nowhere/libcupti.so"))

    assert name == "DeviceError"
    library = "the CUPTI library that KERNELPERF_CUPTI names cannot be used (/nowhere"
    assert said.startswith(f"the cuda runtime cannot start recording: {library}")


def test_a_process_that_recorded_is_never_called_untraced_again(driver: Path, cupti: Path) -> None:
    """The library stays mapped after the end, and measuring finds it there; before the start it is not."""
    told = traced(
        "from pytest_kernelperf.measure.untraced import find_profilers\n"
        "before = find_profilers({})\nrecord()\nprint((before, find_profilers({})))",
        driver,
        cupti,
        STAND_IN_CUPTI_RECORDS=ADD,
    )

    assert told == ((), ("libcupti.so.13",))
