"""``report.html`` as text: what it says, in which order, and that whatever strangers wrote in a run is text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from report_runs import HARM, hostile_run, measured_run, traced

from pytest_kernelperf.model import CaseId, Decision, Measurement, Record, Run, Sample, Verdict
from pytest_kernelperf.report.change import in_order
from pytest_kernelperf.report.html import file
from pytest_kernelperf.report.html.address import addresses_of
from pytest_kernelperf.report.markdown import inert, visible
from pytest_kernelperf.report.opening import render_opening
from pytest_kernelperf.report.run_file import read_run, write_run
from pytest_kernelperf.report.text import printable

for extra in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(extra, reason="the extra report is not installed")

from pytest_kernelperf.report.html.library import Library, load_library  # noqa: E402
from pytest_kernelperf.report.html.markdown import to_items, to_markup, with_letters  # noqa: E402
from pytest_kernelperf.report.html.packing import STEPS, pack  # noqa: E402
from pytest_kernelperf.report.html.page import render_page  # noqa: E402

GOLDEN = Path(__file__).parents[1] / "golden" / "run.json"
LIBRARY = Library(base64.b64encode(zlib.compress(b"window.vegaEmbed = 1")).decode(), "sha256-library")


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, texts, and what is never closed or closed twice."""

    VOID = frozenset({"meta", "input", "br", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.problems: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{name}> is never closed" for name in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All that is read, in one line."""
        return " ".join(" ".join(self.texts).split())

    def ids(self) -> list[str]:
        """Every element's id."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


@pytest.fixture(scope="module")
def run() -> Run:
    """Twenty cases, two of them slower and traced."""
    found = measured_run(cases=20, blocks=4)
    records = tuple(traced(record) if record.decision.fails else record for record in found.records)
    return msgspec.structs.replace(found, records=records)


@pytest.fixture(scope="module")
def page(run: Run) -> Page:
    """Its page."""
    return Page(render_page(run, lambda: LIBRARY))


def test_the_page_is_whole_html_with_ids_of_its_own(page: Page) -> None:
    """Claim: every element is closed once, and no id is there twice, timelines' among them."""
    assert page.problems == []
    assert len(page.ids()) == len(set(page.ids()))


def test_the_page_opens_as_the_comment_does(run: Run, page: Page) -> None:
    """Claim: the same words: what fails of how many, the worst by how much, how many agree, what changed."""
    opening = " ".join(with_letters(render_opening(run)).replace("**", "").replace("\\", "").split())
    assert opening.replace(":", "") in page.text.replace(":", "")
    assert re.search(r"✗ Slows 2 of 20.*\+\d\.\d %, 5 of 5 processes\); VGPRs 24 → 96", page.text)


def test_what_fails_is_said_by_how_much_how_sure_and_what_changed(page: Page) -> None:
    """Claim: page one has a row for each failing case with all four."""
    glance = page.text.partition("What fails")[2].partition("What else to know")[0]
    assert glance.count("✗ slower") == 2
    assert glance.count("5 of 5 processes agree; 95 % interval +") == 2
    assert glance.count("VGPRs 24 → 96, spills 0 → 16") == 2


def test_cases_stand_worst_first_and_each_link_leads_to_its_case(run: Run, page: Page) -> None:
    """Claim: rows are in the comment's order; what a row links to is there, once, and is that case."""
    wanted = [f"#{one}" for one in addresses_of(record.case for _, record in in_order(run.records))]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    table = links[links.index("#cases") + 1 + 2 :]  # behind the way round to the cases, and what fails
    assert table == wanted
    assert [one for one in page.ids() if one.startswith("case=")] == [one[1:] for one in wanted]


def test_verdicts_have_a_word_beside_their_sign(page: Page) -> None:
    """Claim: a filter for each verdict names it; no verdict is a colour or a sign alone."""
    labels = [attributes["data-label"] for tag, attributes in page.elements if "data-label" in attributes]
    assert labels == ["", "✗ slower", "✓ unchanged"]


def test_a_case_has_its_numbers_its_launches_its_trace_and_what_to_type(run: Run, page: Page) -> None:
    """Claim: what the terminal says of a failing case stands in its part, traced times as such."""
    for text in (
        "5 slower, 0 faster, 0 not slower of 5, 4 must agree",
        "4 blocks in each process, alpha 1e-05, tolerance 1 % and 0.02 us",
        "grid threads workgroups / CUs waves VGPRs SGPRs spills LDS bytes",
        "Traced timeline",
        "traced avg us",
        '--update-baselines="why"',
        "amdclang 20.0.0 -> amdclang 20.1.0",
        "the machine did not move",
    ):
        assert text in page.text, text
    assert sum(tag == "svg" for tag, _ in page.elements) == 2


def test_failing_cases_stand_open_and_the_others_closed(page: Page) -> None:
    """Claim: a reader sees what failed without a click; on paper all that fails is open (the style says so)."""
    cases = [
        attributes for tag, attributes in page.elements if tag == "details" and "case" in attributes["class"].split()
    ]
    assert [("fails" in one["class"].split(), "open" in one) for one in cases] == [(True, True)] * 2 + [
        (False, False)
    ] * 18


def test_nothing_is_fetched_and_nothing_runs_but_what_the_package_wrote(run: Run) -> None:
    """Claim: no element names an address but places of the page; the policy forbids all else, by hash of each text."""
    text = render_page(run, lambda: LIBRARY)
    page = Page(text)
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "data", "poster", "background", "srcset", "ping", "xlink:href"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
    policy = next(of["content"] for tag, of in page.elements if of.get("http-equiv") == "Content-Security-Policy")
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(script) == len(style) == 1
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in (*script, *style)
    ]
    assert policy == (
        f"default-src 'none'; script-src {hashes[0]} 'sha256-library'; style-src {hashes[1]}; base-uri 'none'; "
        "form-action 'none'"
    )


def test_a_strangers_run_shows_as_text() -> None:
    """Claim: no name, sentence or note makes an element, an attribute or a program; directions of writing stay."""
    harmless, harmful = (
        Page(render_page(measured_run(cases=9, blocks=4), lambda: LIBRARY)),
        render_page(hostile_run(), lambda: LIBRARY),
    )
    page = Page(harmful)
    assert page.problems == []
    assert len(page.ids()) == len(set(page.ids()))
    tags = {tag for tag, _ in page.elements}
    assert tags <= {tag for tag, _ in harmless.elements} | {
        "svg",
        "g",
        "path",
        "rect",
        "text",
        "tspan",
        "title",
        "desc",
    }
    assert [tag for tag, _ in page.elements].count("script") == [tag for tag, _ in harmless.elements].count("script")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", harmful)
    assert HARM[0] in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "x" * 10_000 in page.text


def test_a_run_of_every_verdict_and_one_of_none_have_pages() -> None:
    """Claim: whatever a verdict lacks (times, plan, samples), its page is whole; so is that of a run without a case."""
    sample_run = read_run(GOLDEN)
    page = Page(render_page(sample_run, lambda: LIBRARY))
    assert page.problems == []
    assert {record.decision.verdict for record in sample_run.records} == set(Verdict) - {Verdict.SKIPPED}
    assert "fused.hip:3:5: unknown type name" in page.text
    addresses = [one for one in page.ids() if one.startswith("case=")]
    assert addresses[-1] == "case=moe_add_inject/last_tile_missing/1", "what was caught stands behind all cases"
    empty = Page(render_page(msgspec.structs.replace(sample_run, records=()), lambda: LIBRARY))
    assert empty.problems == []
    assert "The run holds no case." in empty.text


def test_a_run_without_times_says_so_and_for_which_device_it_was_judged() -> None:
    """Claim: nothing fails, nothing was timed: no button for what fails, and the target's compute units at the top."""
    run = measured_run(cases=2, blocks=1, slower=0)
    records = tuple(
        msgspec.structs.replace(record, decision=Decision(Verdict.NEW, False, "untimed", "right"), measurements=())
        for record in run.records
    )
    settings = {**run.settings, "target": "gfx1151:40"}
    page = Page(render_page(msgspec.structs.replace(run, records=records, settings=settings), lambda: LIBRARY))
    assert "✓ 2 cases right and not starved nothing was timed here." in page.text
    assert "starvation is judged for gfx1151, 40 compute units" in page.text
    assert "open-failing" not in page.ids()


@given(st.text() | st.sampled_from(HARM) | st.text(alphabet="<>&;\"'*_`\\#~-ab1"))
@example("<b onclick=x>&lt;i&gt;</b>")
def test_what_the_comment_makes_harmless_reads_as_it_was_written(text: str) -> None:
    """Claim: text that ``inert`` wrote in Markdown is the same text in HTML, but for what shows nothing by itself."""
    seen = to_markup(inert(text, 10**6))
    assert "<" not in seen
    assert seen.unescape() == with_letters(visible(" ".join(printable(text).split())))


def test_lists_of_the_comment_are_lists_of_the_page() -> None:
    """Claim: bold and code are elements; what stands below an item is a list in it."""
    items = to_items(["- **Bold** and `a<b`", "- two:\n  - one\n  - other"])
    assert items == [("<strong>Bold</strong> and <code>a&lt;b</code>", []), ("two:", ["one", "other"])]


@given(st.lists(st.builds(CaseId, st.text(min_size=1), st.text(), st.integers(0, 9)), max_size=8))
def test_addresses_are_plain_and_all_different(cases: list[CaseId]) -> None:
    """Claim: an address needs no escape anywhere, and no two cases share one, even two of one name."""
    addresses = addresses_of(cases)
    assert len(set(addresses)) == len(cases)
    assert all(re.fullmatch(r"case=[\w.~%-]*/[\w.~%-]*/\d+(~\d+)?", one, re.ASCII) for one in addresses)


def test_addresses_stay_the_same_from_run_to_run() -> None:
    """Claim: a pasted link depends on the case's name alone, however long that is."""
    assert addresses_of([CaseId("moe_add", "tiles<64>", 512)]) == ["case=moe_add/tiles%3C64%3E/512"]
    long = [CaseId("k" * 900 + end, "v", 1) for end in "ab"]
    first, second = addresses_of(long)
    assert first != second
    assert len(first) < 110
    assert addresses_of(long[1:]) == [second]


def unpacked(records: list[Record]) -> list[list[tuple[int, str, int, float]]]:
    """Read packed samples as ``page.js`` does: process, arm, block and time of each."""
    packed = pack(records)
    data = zlib.decompress(base64.b64decode(packed.data))
    count = packed.count
    times, arms = np.frombuffer(data, "<u2", count), np.frombuffer(data, "u1", count, 2 * count)
    begins = np.frombuffer(data, "u1", count, 3 * count)
    assert len(data) == 4 * count
    cases = []
    for case in packed.cases:
        rows: list[tuple[int, str, int, float]] = []
        at = case.first if case else 0
        for one in case.measurements if case else ():
            block = 0
            for _ in range(one.samples):
                block += int(begins[at])
                assert case is not None
                width = math.log(case.high_us) - math.log(case.low_us)
                us = math.exp(math.log(case.low_us) + width * int(times[at]) / STEPS)
                rows.append((one.process, case.arms[arms[at]], block, us))
                at += 1
        cases.append(rows)
    return cases


@given(st.lists(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=6), max_size=4))
def test_samples_come_out_as_they_went_in(times: list[list[float]]) -> None:
    """Claim: every sample once, in order of time, with process, arm and block; its time within half a step."""
    base = measured_run(cases=1, blocks=1).records[0]
    records = [
        msgspec.structs.replace(
            base,
            measurements=(
                Measurement(place, "graph", 1, 1, tuple(
                    Sample("head" if number % 2 else "base line", 10**30 + number // 2 * 300, number % 2, time_us, 1.0)
                    for number, time_us in enumerate(of)
                )),
            ),
        )
        for place, of in enumerate(times)
    ]  # fmt: skip
    for place, (of, rows) in enumerate(zip(times, unpacked(records), strict=True)):
        assert [row[:3] for row in rows] == [
            (place, "head" if number % 2 else "base line", number // 2) for number in range(len(of))
        ]
        step = math.exp((math.log(max(of)) - math.log(min(of))) * 0.51 / STEPS) * (1 + 1e-12)
        assert all(want / step <= row[3] <= want * step for want, row in zip(of, rows, strict=True))


def test_five_hundred_cases_are_small(run: Run) -> None:
    """Claim: 30 blocks of 5 processes and two arms each, drawing library included, are below 3 MB."""
    text = render_page(measured_run(cases=500), lambda: Library("=" * 420_000, "sha256-x"))
    assert len(text.encode()) < 3_000_000


def test_the_library_is_made_once_and_a_damaged_copy_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: the second page takes it from the cache; cut short it is not believed; its hash is its text's."""
    import vl_convert

    made: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        made.append(vl_version)
        return f"{snippet} // {'x' * 1000}"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    first = load_library(tmp_path)
    assert load_library(tmp_path) == first
    assert len(made) == 1
    text = zlib.decompress(base64.b64decode(first.deflated))
    assert first.digest == f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-3])
    assert load_library(tmp_path) == first
    assert len(made) == 2
    assert load_library(tmp_path / "a file is in the way" / "x") == first


def test_show_writes_a_page(tmp_path: Path, run: Run) -> None:
    """Claim: beside the run file by default, elsewhere where asked; never over a file of another kind."""
    from pytest_kernelperf.cli import main

    path = tmp_path / "run.json"
    write_run(path, run)
    show = CliRunner()
    done = show.invoke(main, ["show", str(path), "--html"])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'report.html'}\n")
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    done = show.invoke(main, ["show", str(path), f"--html={path}"])
    assert done.exit_code != 0
    assert done.output.startswith(f"--html: a page's name ends in .html, and {path} does not")
    assert json.loads(path.read_text("utf-8"))["version"] == 1
    done = show.invoke(main, ["show", str(path), f"--html={tmp_path / 'no' / 'x.html'}"])
    assert done.exit_code != 0
    assert "the page cannot be written (No such file or directory): name another place" in done.output


def test_a_page_that_cannot_be_written_is_a_line_and_no_failure(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: without the extra the line says what to install; any other trouble is named; nothing is raised."""
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    assert file.try_page(run, tmp_path) == f"no page: {file.MISSING}"
    monkeypatch.undo()
    assert file.try_page(run, tmp_path / "gone").startswith(
        f"no page: {tmp_path / 'gone' / 'report.html'} could not be"
    )
    monkeypatch.setattr(file, "write_page", lambda *_: 1 // 0)
    path = tmp_path / file.NAME
    assert file.try_page(run, tmp_path).startswith(f"no page: {path} could not be written (ZeroDivisionError: ")
