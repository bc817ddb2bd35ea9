"""A run of the guard as one of CI's jobs: what it is measured against, and what it reports."""
