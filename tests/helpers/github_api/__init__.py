"""A stateful stand-in for GitHub's API, held to GitHub's own description of it.

Every request and every answer is checked against ``openapi.json``; what is wrong is refused and kept in
``GitHub.problems``. What the description does not say is enforced beside it: comment bodies of at most 65,536
characters, pages of at most 100, tokens, rate limits.

    python -m github_api --port 8099 --world world.json      (PYTHONPATH=tests/helpers)
"""

from github_api.server import GitHub
from github_api.world import BOT, Fault, World

__all__ = ["BOT", "Fault", "GitHub", "World"]
