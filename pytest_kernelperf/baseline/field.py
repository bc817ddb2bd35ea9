"""The kinds of values that a baseline file's fields may hold: lengths and ranges, refused by field where broken."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

KernelName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z", min_length=1, max_length=120)]
DeviceKey = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z", min_length=1, max_length=200)]
ModulePath = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f]+\Z", max_length=1000)]
VariantName = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f]+\Z", max_length=200)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
EnvironmentKey = Annotated[str, Meta(pattern=r"\A[0-9a-f]{12}\Z")]
Day = Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
ShortText = Annotated[str, Meta(max_length=400)]
Text = Annotated[str, Meta(max_length=4000)]
TimeUs = Annotated[float, Meta(gt=0, le=1e12)]
Ratio = Annotated[float, Meta(gt=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=2**62)]
