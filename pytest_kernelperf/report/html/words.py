"""What the page's words mean, in a sentence each: shown when pointed at, and all together at its end."""

from __future__ import annotations

WORDS = {
    "kernel, variant, tokens": "A kernel is a task; a variant is one way of doing it, in one or more launches; tokens "
    "are the size of the problem. All three make a case.",
    "before → now": "The time of one round of the plan, in microseconds: of what the case is held against, and of the "
    "code under test. Both were measured today, in turn, on the same buffers.",
    "change": "How much more (+) or less (-) time the code takes, as the mean over processes, and in brackets the "
    "interval that the true change lies in.",
    "would catch": "The smallest slowdown that the samples would have shown, 95 times of 100. It stands only where "
    "they show no change.",
    "workgroups / CUs": "Workgroups of each launch beside the compute units of the device. With fewer workgroups "
    "than compute units some of the device has nothing to do: the launch is starved.",
    "floor": "The fewest workgroups that the kernel's author states for a launch that cannot fill the device, with "
    "the reason.",
    "resources": "What a kernel uses of the device, where it is not what the accepted code uses: VGPRs, SGPRs and "
    "AGPRs are registers; LDS is memory shared by a workgroup; spills are registers kept in memory for want of room.",
    "waves": "Groups of lanes that run in step, 32 or 64 of them, in all workgroups of a launch together.",
    "mode": "How a sample is taken. graph: events round a replayed graph, without gaps between launches; queued: "
    "events round launches that wait in a full queue; loop: wall clock round launches, as a program sees it.",
    "process": "Each fresh process measures the case by itself. A slowdown counts when several processes agree.",
    "block": "Each arm sampled once, in random order. Differences are taken within a block.",
    "arm": "One side of a comparison: head (the code under test), baseline (the accepted binary), parent (the code "
    "that the change is merged into), toolchain (the accepted source compiled today), replaced (the variant that it "
    "replaces).",
    "tolerance": "How much slower a case may be before it counts as slower.",
    "identical": "Instructions, launches and inputs are the accepted ones, so there was nothing to time.",
    "undecided": "The samples prove neither a slowdown nor its absence.",
    "not measured": "Something else used the device, or the samples could not be trusted; no verdict rests on them.",
    "traced": "Recorded by a profiler, which makes times longer: it says why, never by how much.",
    "% of peak": "Bytes moved in that time beside what the device's memory can move at best.",
}
"""In the order in which a reader meets them."""

_HEADS = (
    "before → now", "change", "would catch", "workgroups / CUs", "resources", "waves", "mode", "process", "block",
    "arm", "% of peak",
)  # fmt: skip

HINTS = {name: WORDS[name] for name in _HEADS} | {
    "workgroups/CUs": WORDS["workgroups / CUs"],
    "us/launch": "Time of one round of the plan, all its launches together, in microseconds, and how it was measured.",
    "GB/s": "Bytes moved by the time, in 1e9 bytes a second.",
    "bytes moved": "What the kernel's author states that one round reads and writes.",
    "alpha": "How often the test may be wrong, at most.",
    "seen": "The smallest slowdown that would have been seen.",
    "processes": WORDS["process"],
    "test": "How many blocks each process took, how often the test may be wrong, and what is tolerated.",
    "stored": "The accepted binary's time today beside its times when it was accepted.",
    "grid": "Workgroups in each direction.",
    "threads": "Threads of a workgroup in each direction.",
}
"""For heads of tables."""
