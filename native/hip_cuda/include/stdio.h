// printf comes with NVRTC.
#pragma once
