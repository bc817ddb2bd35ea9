"""The client's way with pages, redirects and broken answers, over plain servers on this machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_kernelperf.errors import GitHubError
from pytest_kernelperf.github.client import MAX_PAGES, Client


class Server:
    """Answers by path; keeps what it was asked, with the token that came along."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers.get("Authorization")))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                kept = outer.answers[self.path]
                status, headers, body = kept.pop(0) if len(kept) > 1 else kept[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_PATCH = do_GET

            def log_message(self, *arguments: Any) -> None:
                pass

        self.serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.serving.server_port}"

    def __enter__(self) -> Server:
        threading.Thread(target=self.serving.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.serving.shutdown()
        self.serving.server_close()


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    """The API, and another host."""
    with ExitStack() as stack:
        yield stack.enter_context(Server()), stack.enter_context(Server())


def client(server: Server, slept: list[float] | None = None) -> Client:
    """A client of the API that waits for nothing."""
    return Client("o/r", "secret", server.url, ([] if slept is None else slept).append)


ZIP = "/repos/o/r/actions/artifacts/1/zip"


def test_pages_are_followed_as_github_links_them(servers: tuple[Server, Server]) -> None:
    """However many entries a page has: some are left out after it was cut."""
    api, _ = servers
    following = f'<{api.url}/repositories/1/x?after=abc>; rel="next", <{api.url}/x?page=9>; rel="last"'
    api.answers = {
        "/repos/o/r/x?per_page=100&page=1": [(200, {"Link": following}, b'[{"a": 1}]')],
        "/repositories/1/x?after=abc": [(200, {"Link": f'<{api.url}/x>; rel="prev"'}, b'[{"a": 2}]')],
    }
    assert client(api).pages("x") == [{"a": 1}, {"a": 2}]


def test_a_next_page_elsewhere_never_gets_the_token(servers: tuple[Server, Server]) -> None:
    """Nor is it asked at all, not even at an address that begins alike."""
    api, other = servers
    for place in (f"{other.url}/x", f"{api.url}.evil.test/x", f"{api.url}@127.0.0.1/x"):
        api.answers = {"/repos/o/r/x?per_page=100&page=1": [(200, {"Link": f'<{place}>; rel="next"'}, b"[]")]}
        with pytest.raises(GitHubError, match="at another address than its API"):
            client(api).pages("x")
    assert other.asked == []


def test_more_pages_than_are_read_are_an_error(servers: tuple[Server, Server]) -> None:
    """A part could pass for all: a comment on a later page would be made again."""
    api, _ = servers
    again = {"Link": f'<{api.url}/again>; rel="next"'}
    api.answers = {"/repos/o/r/x?per_page=100&page=1": [(200, again, b"[{}]")], "/again": [(200, again, b"[{}]")]}
    with pytest.raises(GitHubError, match=f"more than {MAX_PAGES} pages"):
        client(api).pages("x")


def test_a_download_goes_to_the_storage_without_the_token(servers: tuple[Server, Server]) -> None:
    """The API sees it, the other host does not."""
    api, storage = servers
    api.answers = {ZIP: [(302, {"Location": f"{storage.url}/file"}, b"")]}
    storage.answers = {"/file": [(200, {}, b"PK")]}
    assert client(api).download("actions/artifacts/1/zip", 100) == b"PK"
    assert api.asked == [(ZIP, "Bearer secret")]
    assert storage.asked == [("/file", None)]


def test_a_download_is_bounded(servers: tuple[Server, Server]) -> None:
    """One byte more than the limit says that there are more."""
    api, _ = servers
    api.answers = {ZIP: [(200, {}, b"x" * 1000)]}
    assert len(client(api).download("actions/artifacts/1/zip", 10)) == 11


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_a_download_leaves_http_for_nothing(servers: tuple[Server, Server], place: str) -> None:
    """A redirect could else name a file of this machine."""
    api, _ = servers
    api.answers = {ZIP: [(302, {"Location": place}, b"")]}
    with pytest.raises(GitHubError, match="not as safe as its own"):
        client(api).download("actions/artifacts/1/zip", 10)


def test_a_download_that_goes_in_circles_ends(servers: tuple[Server, Server]) -> None:
    """After as many hosts as anybody needs."""
    api, storage = servers
    api.answers = {ZIP: [(302, {"Location": f"{storage.url}/a"}, b"")]}
    storage.answers = {"/a": [(302, {"Location": "/a"}, b"")]}
    with pytest.raises(GitHubError, match="more than 3 times"):
        client(api).download("actions/artifacts/1/zip", 10)


def test_nothing_else_follows_a_redirect(servers: tuple[Server, Server]) -> None:
    """urllib would, with the token; and a POST would become a GET."""
    api, other = servers
    api.answers = {"/repos/o/r/x": [(301, {"Location": f"{other.url}/x"}, b"")]}
    with pytest.raises(GitHubError, match="GitHub has moved x"):
        client(api).get("x")
    with pytest.raises(GitHubError, match="answered 301 to POST x"):
        client(api).post("x", {})
    assert other.asked == []


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[" * 100_000], ids=["html", "no text", "deep"])
def test_an_answer_that_is_no_json_is_said_so(servers: tuple[Server, Server], body: bytes) -> None:
    """Proxies answer with pages of their own."""
    api, _ = servers
    api.answers = {"/repos/o/r/x": [(200, {}, body)]}
    with pytest.raises(GitHubError, match="is no JSON"):
        client(api).get("x")


def test_an_answer_that_breaks_off_is_asked_for_again(servers: tuple[Server, Server]) -> None:
    """Its length said that there was more."""
    api, _ = servers
    slept: list[float] = []
    api.answers = {"/repos/o/r/x": [(200, {"Content-Length": "99"}, b"[1"), (200, {}, b"[1]")]}
    assert client(api, slept).get("x") == [1]
    assert slept == [2.0]
