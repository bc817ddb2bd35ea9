// memcpy and memset come with NVRTC.
#pragma once
