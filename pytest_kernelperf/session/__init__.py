"""One run of the guard: prepares each case, has it run and measured, and lets ``judge`` decide."""
