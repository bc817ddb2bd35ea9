"""Machines' files written out, as several real kinds of machine have them; ``strix_halo.py`` holds one more."""

from __future__ import annotations

from pathlib import Path

NODES = "sys/class/kfd/kfd/topology/nodes"
USERS = "sys/class/kfd/kfd/proc"
DRM = "sys/class/drm"

Files = dict[str, str]

_COMMON = {
    "cpu_cores_count": 0, "cpu_core_id_base": 0, "p2p_links_count": 0, "io_links_count": 1, "mem_banks_count": 1,
    "max_waves_per_simd": 16, "lds_size_in_kb": 64, "gds_size_in_kb": 0, "num_gws": 64, "wave_front_size": 32,
    "simd_per_cu": 2, "max_slots_scratch_cu": 32, "vendor_id": 0x1002, "domain": 0, "hive_id": 0,
    "num_sdma_engines": 1, "unique_id": 0, "num_xcc": 1, "max_engine_clk_ccompute": 5187,
}  # fmt: skip
HALO = _COMMON | {
    "simd_count": 80, "array_count": 4, "simd_arrays_per_engine": 2, "cu_per_simd_array": 10,
    "gfx_target_version": 110501, "device_id": 0x1586, "location_id": 0xC500, "drm_render_minor": 128,
    "max_engine_clk_fcompute": 2900,
}  # fmt: skip
XTX = _COMMON | {
    "simd_count": 192, "array_count": 12, "simd_arrays_per_engine": 2, "cu_per_simd_array": 8,
    "gfx_target_version": 110000, "device_id": 0x744C, "location_id": 0x0300, "drm_render_minor": 129,
    "max_engine_clk_fcompute": 2526,
}  # fmt: skip
MI300X = _COMMON | {
    "simd_count": 1216, "simd_per_cu": 4, "array_count": 32, "simd_arrays_per_engine": 1, "cu_per_simd_array": 10,
    "gfx_target_version": 90402, "wave_front_size": 64, "max_waves_per_simd": 8, "num_xcc": 8, "location_id": 0x0500,
}  # fmt: skip

HALO_CACHES = ((1, 32, 40), (1, 16, 20), (2, 2048, 1), (3, 32768, 1))
XTX_CACHES = ((1, 32, 96), (2, 6144, 1), (3, 98304, 1))


def lines(values: dict[str, int]) -> str:
    """A KFD properties file."""
    return "".join(f"{name} {value}\n" for name, value in values.items())


def node(number: int, values: dict[str, int], gpu_id: int, caches: tuple[tuple[int, int, int], ...] = ()) -> Files:
    """A GPU's topology node; ``caches``: level, size in KB, and how many of them."""
    each = [(level, size) for level, size, count in caches for _ in range(count)]
    return {
        f"{NODES}/{number}/properties": lines(values),
        f"{NODES}/{number}/gpu_id": f"{gpu_id}\n",
        f"{NODES}/{number}/name": "ip discovery\n",
        **{
            f"{NODES}/{number}/caches/{at}/properties": lines({"level": level, "size": size, "cache_line_size": 128})
            + "sibling_map 1,0,0,0,\n"
            for at, (level, size) in enumerate(each)
        },
    }


def card(name: str, place: str, sensors: Files, **files: str) -> Files:
    """An amdgpu card with its hwmon sensors."""
    device = f"{DRM}/{name}/device"
    return {
        f"{device}/vendor": "0x1002\n",
        f"{device}/uevent": f"DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_SLOT_NAME={place}\nMODALIAS=pci:v1002\n",
        f"{DRM}/{name}-DP-1/status": "connected\n",
        f"{DRM}/version": "drm 1.1.0 20060810\n",
        **{f"{device}/{file}": text for file, text in files.items()},
        f"{device}/hwmon/hwmon7/name": "amdgpu\n",
        **{f"{device}/hwmon/hwmon7/{file}": text for file, text in sensors.items()},
    }


def host(kernel: str = "6.18.7-200.fc43.x86_64") -> Files:
    """The CPU's topology node, /proc and the processors of a Strix Halo box: 16 cores, 32 threads."""
    cpu = dict.fromkeys(HALO, 0) | {"cpu_cores_count": 32, "mem_banks_count": 1, "max_engine_clk_ccompute": 5187}
    files = {
        f"{NODES}/0/properties": lines(cpu),
        f"{NODES}/0/gpu_id": "0\n",
        f"{NODES}/0/mem_banks/0/properties": lines({"heap_type": 0, "width": 64, "mem_clk_max": 8000}),
        "proc/cpuinfo": "".join(
            f"processor\t: {number}\ncpu family\t: 26\nmodel\t\t: 112\n"
            "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\nflags\t\t: fpu avx512f\n\n"
            for number in range(32)
        ),
        "proc/meminfo": "MemTotal:       131072000 kB\n",
        "proc/sys/kernel/osrelease": f"{kernel}\n",
    }
    for number in range(32):
        folder = f"sys/devices/system/cpu/cpu{number}"
        files[f"{folder}/topology/core_cpus_list"] = f"{number % 16},{number % 16 + 16}\n"
        files[f"{folder}/cpufreq/scaling_governor"] = "powersave\n"
    return files


def halo(number: int = 1, name: str = "card0", **changes: str) -> Files:
    """A Radeon 8060S as a node and a card: no power limit of its own, power under the newer name."""
    sensors = {"freq1_input": "600000000\n", "power1_input": "9041000\n", "temp1_input": "36000\n"}
    files = {
        "pp_dpm_sclk": "0: 600Mhz *\n1: 888Mhz \n2: 2900Mhz \n",
        "pp_dpm_mclk": "0: 400Mhz \n1: 800Mhz \n2: 1000Mhz *\n",
        "power_dpm_force_performance_level": "auto\n",
        "gpu_busy_percent": "3\n",
        "mem_info_vram_total": "536870912\n",
        "mem_info_gtt_total": "126701535232\n",
    }
    return node(number, HALO, 45839, HALO_CACHES) | card(name, "0000:c5:00.0", sensors, **(files | changes))


def xtx(number: int = 2, name: str = "card1") -> Files:
    """A busy Radeon RX 7900 XTX beside it."""
    sensors = {
        "freq1_input": "2500000000\n", "power1_average": "303000000\n", "power1_cap": "327000000\n",
        "temp1_input": "70000\n",
    }  # fmt: skip
    files = {
        "pp_dpm_sclk": "0: 500Mhz \n1: 2526Mhz *\n",
        "power_dpm_force_performance_level": "high\n",
        "gpu_busy_percent": "97\n",
    }
    return node(number, XTX, 1912, XTX_CACHES) | card(name, "0000:03:00.0", sensors, **files)


def user(pid: int, name: str, *gpu_ids: int) -> Files:
    """A process that has KFD open, with a queue on each GPU named."""
    queues = {f"{USERS}/{pid}/queues/{at}/gpuid": f"{gpu_id}\n" for at, gpu_id in enumerate(gpu_ids)}
    return {f"{USERS}/{pid}/pasid": "32771\n", f"proc/{pid}/comm": f"{name}\n", **queues}


def write(root: Path, *parts: Files) -> Path:
    """Write the files of all parts below ``root`` and return it."""
    for part in parts:
        for name, text in part.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return root
