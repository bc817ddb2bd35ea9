"""Numbers as text."""

from __future__ import annotations

import math

import pytest

from pytest_kernelperf import units


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0.85, "850.0 ns"),
        (2.2149, "2.21 us"),
        (162.15, "162.2 us"),
        (999.4, "999.4 us"),
        (999.6, "1.00 ms"),
        (12_300.0, "12.30 ms"),
        (1.5e6, "1.50 s"),
        (0.0, "0 us"),
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_a_time_gets_the_unit_that_suits_it(time_us: float | None, text: str) -> None:
    """Never 2,210 ns where 2.21 us is meant, and no number where there is none."""
    assert units.format_time(time_us) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0412, "0.0412"),
        (2.2149, "2.21"),
        (99.996, "100.0"),
        (162.15, "162.2"),
        (12_345.6, "12,346"),
        (1e-5, "1.00e-05"),
    ],
)
def test_a_number_keeps_three_digits(value: float, text: str) -> None:
    """Small ones are not shown as 0.00."""
    assert units.format_number(value) == text


@pytest.mark.parametrize(
    ("ratio", "column", "words"),
    [
        (1.331, "+33.1 %", "33.1 % slower"),
        (0.98, "-2 %", "2 % faster"),
        (1.0004, "+0.04 %", "0.04 % slower"),
        (1.00001, "0 %", "the same"),
        (0.5, "-50 %", "50 % faster"),
        (3.0, "+200 %", "200 % slower"),
        (13.345, "+1,234 %", "1,234 % slower"),
    ],
)
def test_a_change_reads_the_same_in_a_column_and_in_words(ratio: float, column: str, words: str) -> None:
    """More time is slower, less is faster, and nothing is said of a change too small to print."""
    assert units.format_change(ratio) == column
    assert units.describe_change(ratio) == words


def test_an_interval_shows_both_ends_with_their_signs() -> None:
    """One process alone has none."""
    assert units.format_interval(1.328, 1.334) == "+32.8 to +33.4 %"
    assert units.format_interval(0.999, 1.02) == "-0.1 to +2 %"
    assert units.format_interval(None, None) == "unknown"


def test_the_lessons_bandwidth_comes_out() -> None:
    """102,416 bytes in 2.21 us are 46.3 GB/s; nothing is made of a time that is missing, zero or NaN."""
    assert units.format_gb_per_s(units.bandwidth_gb_per_s(102_416, 2.21)) == "46.3"
    assert units.bandwidth_gb_per_s(102_416, 0.0) is None
    assert units.bandwidth_gb_per_s(102_416, math.nan) is None
    assert units.bandwidth_gb_per_s(None, 2.21) is None
    assert units.format_gb_per_s(None) == "-"


def test_shares_and_counts() -> None:
    """Thousands have commas, one workgroup is not one workgroups, and tolerances are percentages."""
    assert units.format_share(46.4, 226.0) == "21 %"
    assert units.format_share(46.4, None) == "-"
    assert units.format_counted(1, "workgroup") == "1 workgroup"
    assert units.format_counted(2_048, "process", "processes") == "2,048 processes"
    assert units.format_bytes(122_896) == "122,896"
    assert units.format_tolerance(1.01) == "1 %"
    assert units.format_floor(0.02) == "0.02 us"
    assert units.format_tolerance(1.0025) == "0.25 %"
    assert units.format_probability(0.0078125) == "0.0078"
    assert units.format_probability(1e-5) == "1e-05"
