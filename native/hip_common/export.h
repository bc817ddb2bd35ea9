// What the libraries export: C names, default visibility; all else is hidden.
#pragma once

#define KP_EXPORT extern "C" __attribute__((visibility("default")))
