"""The one comment of ours on a pull request: found among all, made once, edited when it would say something else."""

from __future__ import annotations

from pytest_kernelperf.errors import GitHubError
from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.github.body import Body, read_body
from pytest_kernelperf.model import Frozen


class Comment(Frozen, frozen=True):
    """A comment of ours as it stands."""

    number: int
    text: str
    body: Body


def find_comment(github: Repository, pull: int, author: str) -> Comment | None:
    """Return the oldest comment that has our mark and is by us, of all pages.

    Anybody can write the mark, and our token could edit anybody's comment: the author counts as much.

    Raises:
        GitHubError: GitHub cannot be asked.
    """
    for each in github.pages(f"issues/{pull}/comments"):
        text = str(each.get("body") or "")
        if (each.get("user") or {}).get("login") == author and (body := read_body(text)) is not None:
            return Comment(int(each["id"]), text, body)
    return None


def put_comment(github: Repository, pull: int, author: str, earlier: Comment | None, body: Body) -> str:
    """Make or edit the comment; return what was done, as a sentence.

    Raises:
        GitHubError: GitHub cannot be told.
    """
    text = body.text()
    if earlier is not None:
        if earlier.text.replace("\r\n", "\n") == text:
            return f"the comment on #{pull} says so already"
        github.patch(f"issues/comments/{earlier.number}", {"body": text})
        return f"edited the comment on #{pull}"
    try:
        made = github.post(f"issues/{pull}/comments", {"body": text})
    except GitHubError as problem:
        # No answer, or a server's error, says nothing about whether it was made.
        if 0 < problem.status < 500:
            raise
        earlier = find_comment(github, pull, author)
        if earlier is not None:
            return put_comment(github, pull, author, earlier, body)
        made = github.post(f"issues/{pull}/comments", {"body": text})
    by = str((made.get("user") or {}).get("login"))
    if by != author:
        raise GitHubError(
            f"the comment on #{pull} is by {by}, not by {author}: without --author {by} each run adds one"
        )
    return f"made the comment on #{pull}"
