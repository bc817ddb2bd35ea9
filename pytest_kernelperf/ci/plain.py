"""Strangers' text in Markdown of ours: the report's own way, under the name that CI's texts use."""

from __future__ import annotations

from pytest_kernelperf.report.markdown import inert as plain

__all__ = ["plain"]
