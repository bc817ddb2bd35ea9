"""GitHub's API, and the one comment that a pull request gets of a run."""
