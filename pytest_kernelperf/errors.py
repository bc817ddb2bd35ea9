"""Everything this package raises on purpose.

KernelperfError              one sentence: what was expected, what came, what to do now
├── UsageError               a test, marker, option or setting is wrong; found before anything runs
├── BaselineError            a baseline file cannot be used as it stands
├── RunFileError             a run file cannot be read
├── TraceError               a trace cannot be read, or two of them not be compared
├── ReplayError              a case's replay cannot be written, read or played
├── GitHubError              GitHub's API refused, or could not be reached (``status`` holds its answer's)
├── RuntimeUnavailable       no usable HIP library, compiler or device
├── CompileError             the kernel's source does not compile (``log`` holds the compiler's words)
├── DeviceError              a HIP call failed
│   ├── CaptureRefused       a plan cannot be captured as a graph
│   └── CodeObjectError      a code object cannot be read
└── WorkerFailure            a device worker did not answer
    ├── WorkerCrashed        its process died
    └── WorkerHung           it overran its time limit and was killed
"""

from __future__ import annotations


class KernelperfError(Exception):
    """Base of all errors whose text is meant for the user as it stands."""


class UsageError(KernelperfError):
    """A test, marker, option or setting says something that cannot be done."""


class BaselineError(KernelperfError):
    """A baseline file is unreadable, of an unknown version, or not this device's."""


class RunFileError(KernelperfError):
    """A run file is unreadable, too large, or of an unknown version."""


class TraceError(KernelperfError):
    """A trace is missing, damaged, no rocpd, or was not recorded as the one that it is compared with."""


class ReplayError(KernelperfError):
    """What replays a case cannot be written, is damaged, or is another device's."""


class GitHubError(KernelperfError):
    """GitHub's API refused something, or could not be reached; ``status`` is the answer's, 0 where there was none."""

    def __init__(self, sentence: str, status: int = 0) -> None:
        super().__init__(sentence)
        self.status = status


class RuntimeUnavailable(KernelperfError):
    """No HIP runtime can be used here; the sentence says what is missing."""


class CompileError(KernelperfError):
    """A kernel's source was refused by the runtime's compiler."""

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.log = log


class DeviceError(KernelperfError):
    """A HIP call returned an error; the sentence names the call and the code's meaning."""


class CaptureRefused(DeviceError):
    """A plan, or the runtime, does not allow capture as a graph; it can be measured in another mode."""


class CodeObjectError(DeviceError):
    """A code object is damaged, cut off or of an unknown kind."""


class WorkerFailure(KernelperfError):
    """A device worker did not answer."""


class WorkerCrashed(WorkerFailure):
    """A device worker's process died while it worked."""


class WorkerHung(WorkerFailure):
    """A device worker overran its time limit and was killed."""
