"""The ini settings by name: default and help. Apart, since pytest reads it in every run and must not pay for more."""

INI = {
    "kernelperf_target": ("", "judge starvation for this device: gfx1151, or gfx1100:84 with its compute units"),
    "kernelperf_baselines": ("baselines", "folder of the stored baselines, relative to the project root"),
    "kernelperf_mode": ("graph", "how the gate is timed: graph, queued or loop"),
    "kernelperf_cache": ("warm", "warm, or cold: each round takes its arguments from memory, not from caches"),
    "kernelperf_last_level_bytes": ("", "bytes of all caches before memory, where the device does not say"),
    "kernelperf_tolerance": ("", "smallest slowdown that counts, 0.01 or 1%; default 1%, on the cpu runtime 5%"),
    "kernelperf_floor_us": ("0.02", "a difference below this many microseconds a round never counts"),
    "kernelperf_alpha": ("1e-5", "chance of a false alarm per case and process"),
    "kernelperf_curve_tolerance": (
        "",
        "smallest mean slowdown over a variant's sizes that counts; default half of theirs",
    ),
    "kernelperf_creep": ("5%", "slowdown of a case in accepted steps, all together, beyond which that is said"),
    "kernelperf_processes": ("5", "fresh processes that measure each case"),
    "kernelperf_blocks": (
        "",
        "samples of each arm in each process, at first; default as many as the test needs",
    ),
    "kernelperf_dwell_s": ("0", "seconds that each arm runs before each of its samples; 1 shows what draws more power"),
    "kernelperf_case_timeout_s": (
        "120",
        "seconds after which a worker is stopped; a single run of a plan gets at most 30",
    ),
    "kernelperf_wait_s": ("1800", "seconds to wait for another guard on this machine"),
    "kernelperf_new_limit_days": ("", "days after which a case without a baseline fails; for pushes to main"),
    "kernelperf_trace": ("regression", "which cases are traced: regression, never or always"),
    "kernelperf_page": ("true", "false: no report.html beside the run.json in the folder of --kernelperf-out"),
    "kernelperf_rocprofv3": ("", "the rocprofv3 to trace with on AMD GPUs; default the one of the runtime's ROCm"),
}
