"""Baselines: what was accepted, on disk, and what is wrong with it."""
