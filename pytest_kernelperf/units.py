"""Numbers become text here and nowhere else, so that a report, a reason and JUnit say the same.

Ratios have 1.0 for no change; percentages are made from them here. Infinite, missing or NaN numbers
become ``-``: a renderer prints what it gets.
"""

from __future__ import annotations

import math

MISSING = "-"


def format_count(count: int) -> str:
    """A whole number with thousands commas: ``5,242,880``."""
    return f"{count:,}"


def format_counted(count: int, noun: str, plural: str = "") -> str:
    """A number and its noun: ``1 workgroup``, ``2,048 workgroups``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_bytes(size_bytes: int | None) -> str:
    """Bytes to the last one, as they are compared by hand: ``122,896``."""
    return MISSING if size_bytes is None else f"{size_bytes:,}"


def format_number(value: float | None) -> str:
    """A number to be read in a table: 2 decimals below 100, 1 below 1,000, none above, never fewer than 3 digits.

    ``0.0412``, ``2.21``, ``162.2``, ``12,345``.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.995:
        return f"{value:.3g}" if size >= 1e-4 else f"{value:.2e}"
    if size < 99.995:
        return f"{value:.2f}"
    return f"{value:,.1f}" if size < 999.95 else f"{value:,.0f}"


def format_us(time_us: float | None) -> str:
    """Microseconds without the unit, for a column that is headed by it: ``2.21``."""
    return format_number(time_us)


def format_time(time_us: float | None) -> str:
    """A time with the unit that suits it: ``850 ns``, ``2.21 us``, ``12.30 ms``, ``1.50 s``."""
    if time_us is None or not math.isfinite(time_us):
        return MISSING
    size_us = abs(time_us)
    if size_us == 0:
        return "0 us"
    for limit_us, factor, unit in ((0.9995, 1e3, "ns"), (999.5, 1.0, "us"), (999.5e3, 1e-3, "ms")):
        if size_us < limit_us:
            return f"{format_number(time_us * factor)} {unit}"
    return f"{format_number(time_us * 1e-6)} s"


def format_duration(duration_s: float) -> str:
    """How long people wait, to the second: ``12 s``, ``2 min 05 s``, ``1 h 02 min``."""
    if not math.isfinite(duration_s):
        return MISSING
    seconds = max(0, round(duration_s))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


def bandwidth_gb_per_s(moved_bytes: int | None, time_us: float | None) -> float | None:
    """Bytes moved per time in GB/s (1e9 bytes), None where either is unknown or the time is not positive."""
    if moved_bytes is None or time_us is None or not time_us > 0:
        return None
    return moved_bytes / (time_us * 1e3)


def rate_gop_per_s(operations: int | None, time_us: float | None) -> float | None:
    """Arithmetic operations per time in 1e9 a second, None where either is unknown or the time is not positive."""
    return bandwidth_gb_per_s(operations, time_us)  # both are an amount by 1e9 a second


def format_gb_per_s(gb_per_s: float | None) -> str:
    """Bandwidth without the unit, one decimal as the lesson prints it: ``46.4``."""
    return MISSING if gb_per_s is None or not math.isfinite(gb_per_s) else f"{gb_per_s:,.1f}"


def format_share(part: float | None, whole: float | None) -> str:
    """Part of a whole in percent, whole numbers: ``21 %``."""
    if part is None or whole is None or not whole > 0 or not math.isfinite(part):
        return MISSING
    return f"{100 * part / whole:.0f} %"


def _digits(percent: float) -> str:
    """A percentage without its sign and unit; two decimals below 1, one below 100, none above.

    The tolerance 1 % reads ``1``, not ``1.0``: whole numbers up to 100 are shown bare.
    """
    size = abs(percent)
    if not math.isfinite(size):
        return MISSING
    text = f"{size:.2f}" if size < 0.995 else f"{size:.1f}" if size < 99.95 else f"{size:,.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_percent(percent: float) -> str:
    """A percentage with its unit: ``33.1 %``, ``0.04 %``, ``1 %``."""
    return f"{'-' if percent < 0 and _digits(percent) != '0' else ''}{_digits(percent)} %"


def format_tolerance(tolerance_ratio: float) -> str:
    """A tolerance given as a ratio above 1.0: 1.01 is ``1 %``."""
    return format_percent(100 * (tolerance_ratio - 1))


def format_floor(floor_us: float) -> str:
    """A time as it was set, not measured: ``0.02 us``."""
    return f"{floor_us:g} us"


def format_change(change_ratio: float | None) -> str:
    """A change of time with its sign, for a column: 1.331 is ``+33.1 %``, 0.98 is ``-2 %``."""
    if change_ratio is None or not math.isfinite(change_ratio):
        return MISSING
    return f"{_signed(change_ratio)} %"


def describe_change(change_ratio: float) -> str:
    """A change of time in words: ``33.1 % slower``, ``2 % faster``, ``the same``.

    Faster is how much less time it takes: half the time is ``50 % faster``.
    """
    percent = 100 * (change_ratio - 1)
    if _digits(percent) == "0":
        return "the same"
    return f"{_digits(percent)} % {'slower' if percent > 0 else 'faster'}"


def format_interval(low_ratio: float | None, high_ratio: float | None) -> str:
    """An interval of a change: ``+32.8 to +33.4 %``; ``unknown`` where one process alone cannot give one."""
    if low_ratio is None or high_ratio is None or not math.isfinite(low_ratio + high_ratio):
        return "unknown"
    return f"{_signed(low_ratio)} to {_signed(high_ratio)} %"


def format_probability(p_value: float) -> str:
    """A p-value or alpha: two digits, ``0.0078``, ``1e-05``."""
    return f"{p_value:.2g}"


def _signed(ratio: float) -> str:
    """A ratio's change in percent with its sign, without the unit."""
    percent = 100 * (ratio - 1)
    digits = _digits(percent)
    return digits if digits == "0" else f"{'+' if percent > 0 else '-'}{digits}"
