#!/bin/sh
# ACTIONS_RUNNER_HOOK_JOB_STARTED: the gate. Isolated Python: no environment, no user's packages, no bytecode written.
exec /usr/bin/python3 -I -B /usr/local/lib/kernelperf-runner started
