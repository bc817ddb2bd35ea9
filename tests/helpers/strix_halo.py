"""The files of a Strix Halo box, written out: what KFD, amdgpu and the kernel say of a Radeon 8060S (gfx1151)."""

from __future__ import annotations

from pathlib import Path

PLACE = "0000:c5:00.0"
CARD = "sys/class/drm/card1/device"
KFD = "sys/class/kfd/kfd"

_CPU_NODE = {"cpu_cores_count": 32, "simd_count": 0, "gfx_target_version": 0}
_GPU_NODE = {
    "cpu_cores_count": 0,
    "simd_count": 80,
    "mem_banks_count": 1,
    "caches_count": 4,
    "max_waves_per_simd": 16,
    "lds_size_in_kb": 64,
    "wave_front_size": 32,
    "array_count": 4,
    "simd_arrays_per_engine": 2,
    "cu_per_simd_array": 10,
    "simd_per_cu": 2,
    "gfx_target_version": 110501,
    "vendor_id": 0x1002,
    "device_id": 0x1586,
    "location_id": 0xC500,
    "domain": 0,
    "drm_render_minor": 128,
    "max_engine_clk_fcompute": 2900,
}

FILES = {
    f"{KFD}/topology/nodes/0/properties": _CPU_NODE,
    f"{KFD}/topology/nodes/0/gpu_id": "0\n",
    f"{KFD}/topology/nodes/1/properties": _GPU_NODE,
    f"{KFD}/topology/nodes/1/gpu_id": "34234\n",
    f"{KFD}/topology/nodes/1/mem_banks/0/properties": {"heap_type": 1, "size_in_bytes": 68719476736, "width": 256},
    f"{KFD}/topology/nodes/1/caches/0/properties": {"level": 1, "size": 32},
    f"{KFD}/topology/nodes/1/caches/1/properties": {"level": 2, "size": 2048},
    f"{KFD}/topology/nodes/1/caches/2/properties": {"level": 3, "size": 32768},
    f"{KFD}/proc/4242/pasid": "32770\n",
    f"{KFD}/proc/4242/queues/0/type": "1\n",
    f"{KFD}/proc/4242/queues/1/type": "0\n",
    "proc/4242/comm": "llama-server\n",
    "sys/class/drm/card1-HDMI-A-1/status": "disconnected\n",
    f"{CARD}/vendor": "0x1002\n",
    f"{CARD}/device": "0x1586\n",
    f"{CARD}/uevent": f"DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:1586\nPCI_SLOT_NAME={PLACE}\n",
    f"{CARD}/gpu_busy_percent": "0\n",
    f"{CARD}/power_dpm_force_performance_level": "auto\n",
    f"{CARD}/pp_dpm_sclk": "0: 600Mhz *\n1: 1100Mhz \n2: 2900Mhz \n",
    f"{CARD}/hwmon/hwmon5/name": "amdgpu\n",
    f"{CARD}/hwmon/hwmon5/freq1_input": "613000000\n",
    f"{CARD}/hwmon/hwmon5/freq1_label": "sclk\n",
    f"{CARD}/hwmon/hwmon5/power1_average": "15084000\n",
    f"{CARD}/hwmon/hwmon5/power1_cap": "120000000\n",
    f"{CARD}/hwmon/hwmon5/temp1_input": "38000\n",
    f"{CARD}/hwmon/hwmon5/temp1_label": "edge\n",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list": "0,1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/topology/core_cpus_list": "0,1\n",
    "proc/cpuinfo": "processor\t: 0\ncpu family\t: 26\nmodel\t: 112\n"
    "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\nflags\t: fpu\n\n",
    "proc/meminfo": "MemTotal:       131072000 kB\n",
    "proc/sys/kernel/osrelease": "6.18.4-strix\n",
}


def write_strix_halo(root: Path) -> Path:
    """Write the tree below ``root`` and return it."""
    for name, content in FILES.items():
        text = content if isinstance(content, str) else "".join(f"{key} {value}\n" for key, value in content.items())
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
