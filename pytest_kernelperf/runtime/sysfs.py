"""amdgpu's own files: clock, power, temperature and policy of each card, from ``/sys/class/drm``.

All of them are world-readable. Any may be missing or refuse to be read, as hwmon's do on a GPU that sleeps;
then nothing is said. No HIP here: all functions read files below a folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelperf.machine import GpuState

AMD = "0x1002"

MOST_BYTES = 4096
MOST_CARDS = 256

_PLACE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class Card:
    """An AMD card: PCI address (``0000:c5:00.0``, "" where it is not said) and its state."""

    place: str
    state: GpuState


def cards(drm: Path) -> tuple[Card, ...]:
    """The AMD cards below ``/sys/class/drm``, by number: not always card 0."""
    names = sorted((name for name in _names(drm) if re.fullmatch(r"card\d{1,4}", name)), key=lambda name: int(name[4:]))
    found = []
    for name in names[:MOST_CARDS]:
        device = drm / name / "device"
        if _is_amds(device):
            found.append(Card(_place(device), _state(name, device, _sensors(device, drm.parent / "hwmon"))))
    return tuple(found)


def place_of(domain: int, location: int) -> str:
    """``0000:c5:00.0`` for KFD's domain and location (bus << 8 | device << 3 | function)."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def find_card(found: tuple[Card, ...], place: str) -> Card | None:
    """The card at a PCI address, else the only card there is, if one of the two addresses is not known ("")."""
    for card in found:
        if card.place == place != "":
            return card
    return found[0] if len(found) == 1 and not (place and found[0].place) else None


def read_word(path: Path) -> str:
    """A file's first line, printable and at most 80 characters; "" if it cannot be read."""
    text = read_text(path).partition("\n")[0].strip()
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:80]


def read_text(path: Path) -> str:
    """The beginning of a file as text; "" if it cannot be read."""
    try:
        if not path.is_file():  # a pipe in a copied tree would be waited for without end
            return ""
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """A whole number that a file holds; None if it does not."""
    text = read_text(path).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _is_amds(device: Path) -> bool:
    vendor = read_word(device / "vendor").lower()
    return vendor == AMD if vendor else bool(re.search(r"^DRIVER=amdgpu$", read_text(device / "uevent"), re.MULTILINE))


def _state(name: str, device: Path, sensors: Path) -> GpuState:
    clock_hz = _first(sensors / "freq1_input")
    power_uw = _first(sensors / "power1_average", sensors / "power1_input")  # which of the two differs by kernel
    limit_uw = _first(sensors / "power1_cap")
    temperature_mc = _first(sensors / "temp1_input")
    current_mhz, most_mhz = _levels(read_text(device / "pp_dpm_sclk"))
    memory_mhz, most_memory_mhz = _levels(read_text(device / "pp_dpm_mclk"))
    busy = read_number(device / "gpu_busy_percent")
    return GpuState(
        source=name,
        clock_mhz=current_mhz if clock_hz is None else clock_hz / 1e6,
        most_clock_mhz=most_mhz,
        power_w=None if power_uw is None else power_uw / 1e6,
        power_limit_w=None if not limit_uw else limit_uw / 1e6,  # 0: the platform keeps it, as on an APU
        temperature_c=None if temperature_mc is None else temperature_mc / 1e3,
        performance_level=read_word(device / "power_dpm_force_performance_level"),
        busy_percent=busy if busy is not None and busy <= 100 else None,
        memory_clock_mhz=memory_mhz,
        most_memory_clock_mhz=most_memory_mhz,
        vram_bytes=read_number(device / "mem_info_vram_total"),
        gtt_bytes=read_number(device / "mem_info_gtt_total"),
    )


def _sensors(device: Path, everybodys: Path) -> Path:
    """amdgpu's hwmon folder; its number changes from boot to boot. A written-out tree may have the class's alone."""
    own = _hwmons(device / "hwmon")
    named = [folder for folder in own if read_word(folder / "name") == "amdgpu"]
    if own:
        return (named or own)[0]
    others = [folder for folder in _hwmons(everybodys) if read_word(folder / "name") == "amdgpu"]
    return others[0] if len(others) == 1 else device / "hwmon"


def _hwmons(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(_names(folder)) if name.startswith("hwmon")]


def _levels(text: str) -> tuple[float | None, float | None]:
    """Current and highest clock in MHz of ``pp_dpm_sclk``: ``1: 1100Mhz *``."""
    clocks = [(int(mhz), star) for mhz, star in re.findall(r"^\S*:\s*(\d{1,6})\s*Mhz\s*(\*?)\s*$", text, re.M | re.I)]
    current = [mhz for mhz, star in clocks if star]
    return (float(current[0]) if current else None), (float(max(mhz for mhz, _ in clocks)) if clocks else None)


def _place(device: Path) -> str:
    """The PCI address: from ``uevent``, else the name of the folder that ``device`` links to."""
    match = re.search(r"^PCI_SLOT_NAME=(\S{1,20})$", read_text(device / "uevent"), re.MULTILINE)
    for name in (match.group(1) if match else "", device.resolve().name):
        if _PLACE.fullmatch(name.lower()):
            return name.lower()
    return ""


def _first(*paths: Path) -> int | None:
    return next((value for value in map(read_number, paths) if value is not None), None)


def _names(folder: Path) -> Iterable[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
