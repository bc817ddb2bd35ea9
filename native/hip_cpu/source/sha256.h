// SHA-256 (FIPS 180-4), for names of cached files.
#pragma once

#include <string>
#include <string_view>

namespace kp {

std::string sha256_hex(std::string_view bytes);

}  // namespace kp
