"""Reports: a run as a file, and as text for people; pure functions of the run."""
