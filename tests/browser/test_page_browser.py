"""``report.html`` where it is read: in Chromium, offline, by mouse, by keyboard, on a phone, in the dark, on paper.

All weekly: a browser starts, which takes half a minute with all that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from page_browser import PHONE, WIDE, Browser, Reader, chromium, find_axe, missing, violations
from report_runs import hostile_run, measured_run, traced

from pytest_kernelperf.model import Run
from pytest_kernelperf.report.change import deciding, in_order
from pytest_kernelperf.report.figure.block_differences import block_rows, judgement
from pytest_kernelperf.report.figure.samples_in_time import sample_rows
from pytest_kernelperf.report.html.address import addresses_of
from pytest_kernelperf.report.html.file import write_page

pytestmark = pytest.mark.weekly

Read = Callable[..., Reader]


@pytest.fixture(scope="module")
def run() -> Run:
    """Twenty-four cases of two kernels, three of them slower and traced."""
    found = measured_run(cases=24, blocks=10, slower=3)
    records = tuple(traced(record) if record.decision.fails else record for record in found.records)
    return msgspec.structs.replace(found, records=records)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if problem := missing():
        pytest.skip(problem)
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the run."""
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(run, path)
    return path


@pytest.fixture
def read(browser: Browser) -> Iterator[Read]:
    """Open a page; whoever reads it hears no complaint, and sends nothing anywhere."""
    readers: list[Reader] = []

    def open_page(path: Path, fragment: str = "", **how: Any) -> Reader:
        readers.append(Reader(browser, **how))
        return readers[-1].open(path, fragment)

    yield open_page
    for reader in readers:
        reader.close()
        assert reader.complaints == []
        assert all(one.startswith(("file:", "blob:", "data:")) for one in reader.requests)
        assert len({one for one in reader.requests if one.startswith("file:")}) <= 1 + len(reader.complaints)


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light")])
def test_everything_is_drawn_fits_and_is_accessible(
    read: Read, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    """Claim: every picture is drawn, nothing is wider than the window, and axe has nothing to say."""
    page, run = tmp_path / "report.html", measured_run(cases=4, blocks=10, slower=1)
    write_page(msgspec.structs.replace(run, records=tuple(map(traced, run.records))), page)
    reader = read(page, size=size, scheme=scheme)
    reader.draw_all()
    assert reader.page.locator(".picture[data-failed]").count() == 0
    assert reader.page.locator(".picture svg").count() == 1 + 2 * 4 + 1
    assert reader.page.evaluate("document.documentElement.scrollWidth") == size[0]
    axe = find_axe()
    if isinstance(axe, str):
        pytest.skip(axe)
    assert violations(reader.page, axe) == []


def test_pictures_show_the_samples_of_the_run(run: Run, page: Path, read: Read) -> None:
    """Claim: the rows that the browser makes of the packed samples are those that the package makes of the run."""
    reader = read(page)
    for place, (_, record) in list(enumerate(in_order(run.records)))[::5]:
        comparison = deciding(record)
        assert comparison is not None
        blocks = reader.page.evaluate(f"window.kernelperfRows('block_differences', {place})")
        wanted = [msgspec.structs.asdict(row) for row in block_rows(record.measurements, comparison)]
        assert blocks["judgement"] == [msgspec.structs.asdict(judgement(comparison))]
        near(blocks["rows"], wanted, "change")
        samples = reader.page.evaluate(f"window.kernelperfRows('samples_in_time', {place})")["rows"]
        near(samples, [msgspec.structs.asdict(row) for row in sample_rows(record.measurements, record.mode)], "time_us")


def near(rows: list[dict[str, Any]], wanted: list[dict[str, Any]], measured: str) -> None:
    """Compare rows: times may differ by what packing rounds, all else is the same."""
    assert [row[measured] for row in rows] == pytest.approx([row[measured] for row in wanted], rel=2e-6, abs=2e-6)
    assert [{**row, measured: 0} for row in rows] == [{**row, measured: 0} for row in wanted]


def test_a_verdict_and_words_choose_cases(page: Path, read: Read) -> None:
    """Claim: both narrow the table and the cases below it, say how many are left, and can be taken back."""
    of = read(page).page
    rows, cases = of.locator("#table tbody tr"), of.locator("details.case")
    of.get_by_role("button", name="✗ slower").click()
    assert (rows.locator("visible=true").count(), cases.locator("visible=true").count()) == (3, 3)
    assert of.locator("#found").inner_text() == "3 of 24 shown"
    of.get_by_role("button", name="All 24").click()
    of.get_by_role("searchbox").fill("KERNEL_01 plain")
    assert rows.locator("visible=true").count() == cases.locator("visible=true").count() == 4
    assert of.locator("section.kernel").locator("visible=true").count() == 1
    of.get_by_role("searchbox").fill("")
    assert (rows.locator("visible=true").count(), of.locator("#found").inner_text()) == (24, "")


@pytest.mark.parametrize("strangers", [False, True])
def test_a_link_to_a_case_opens_it_whatever_it_is_called(
    run: Run, page: Path, read: Read, tmp_path: Path, strangers: bool
) -> None:
    """Claim: pasted into a browser, each address shows its case, open and in focus; so does a click in the table."""
    if strangers:
        run, page = hostile_run(), tmp_path / "report.html"
        write_page(run, page)
    addresses = addresses_of(record.case for _, record in in_order(run.records))
    for place in (0, len(addresses) - 1):
        of = read(page, addresses[place]).page
        one = of.locator(f'details.case[data-place="{place}"]')
        one.locator("summary:focus").wait_for()
        assert one.get_attribute("open") is not None
        of.wait_for_timeout(500)
        assert one.locator("summary").bounding_box()["y"] < 900
    of = read(page).page
    of.get_by_role("searchbox").fill("nothing is called so")
    of.evaluate("address => { location.hash = address; }", addresses[-1])
    of.locator("details.case :focus").wait_for()
    assert of.locator("details.case").locator("visible=true").count() == len(addresses)


def test_a_strangers_page_runs_nothing_of_his(read: Read, tmp_path: Path) -> None:
    """Claim: with every text harmful and every picture drawn, none of it has run."""
    page = tmp_path / "report.html"
    write_page(hostile_run(), page)
    reader = read(page)
    reader.draw_all()
    assert reader.page.evaluate("window.harmed") is None
    assert reader.page.locator(".picture[data-failed]").count() == 0
    assert reader.page.locator("img, iframe, object, embed").count() == 0


def test_all_of_it_can_be_done_from_the_keyboard(page: Path, read: Read) -> None:
    """Claim: the first stop leads past everything to the cases; what has the focus shows it; Enter opens and closes."""
    of = read(page).page
    of.keyboard.press("Tab")
    assert of.evaluate("document.activeElement.textContent") == "Skip to the cases"
    assert of.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    of.keyboard.press("Enter")
    assert of.evaluate("document.activeElement.id") == "cases"
    of.keyboard.press("Tab")
    of.keyboard.press("Tab")
    assert of.evaluate("document.activeElement.dataset.label") == "✗ slower"
    of.keyboard.press("Space")
    assert of.locator("#table tbody tr").locator("visible=true").count() == 3
    summary = of.locator("details.case summary").first
    summary.focus()
    of.keyboard.press("Enter")
    assert of.locator("details.case").first.get_attribute("open") is None


def test_the_switch_of_colours_holds_against_the_systems(page: Path, read: Read) -> None:
    """Claim: dark on request on a light system, pictures too, and back to what the system says."""
    reader = read(page, size=(1280, 3000))
    of, colour = reader.page, "getComputedStyle(document.body).backgroundColor"
    of.wait_for_selector(".picture[data-drawn=light] svg")
    light = of.evaluate(colour)
    of.get_by_role("button", name="Dark").click()
    assert of.evaluate(colour) == "rgb(13, 17, 23)" != light
    of.wait_for_selector(".picture[data-drawn=dark] svg")
    assert of.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    of.get_by_role("button", name="Auto").click()
    assert of.evaluate(colour) == light


def test_on_paper_all_that_fails_is_open(page: Path, read: Read) -> None:
    """Claim: a failing case that was closed is printed whole, one that passes takes a line, and paper is white."""
    of = read(page, scheme="dark").page
    of.locator('[data-kind="kernel_curve"] svg').nth(1).wait_for()  # far below what the window shows
    of.locator("details.case.fails summary").first.click()
    of.emulate_media(media="print", color_scheme="dark")
    height = "selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect().height)"
    assert min(of.evaluate(height, "details.case.fails")) > 300
    assert max(of.evaluate(height, "details.case:not(.fails)")) < 60
    assert of.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert of.locator(".filter").is_hidden()


def test_a_traced_timeline_can_be_enlarged(page: Path, read: Read) -> None:
    """Claim: eight times as wide as its place, which then scrolls; the page does not."""
    of = read(page).page
    picture = of.locator(".timeline svg").first
    before = picture.bounding_box()["width"]
    of.get_by_role("button", name="8 ×").first.click()
    assert picture.bounding_box()["width"] == pytest.approx(8 * before, rel=0.01)
    assert of.evaluate("document.documentElement.scrollWidth") == WIDE[0]


def test_without_javascript_all_tables_can_be_read(page: Path, read: Read) -> None:
    """Claim: cases, numbers and links work; what needs a program is not there, and says why."""
    of = read(page, java_script_enabled=False).page
    assert of.locator("#table tbody tr").locator("visible=true").count() == 24
    assert of.locator(".filter").is_hidden()
    last = of.locator("details.case").last
    last.locator("summary").click()
    assert last.get_by_text("must agree").is_visible()
