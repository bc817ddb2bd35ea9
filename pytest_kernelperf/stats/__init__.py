"""Pure functions on numbers: what samples say, and how surely. Tests come from scipy; nothing here knows a device."""
