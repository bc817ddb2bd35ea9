// hipcc's and hiprtc's compile options in NVRTC's words.
#pragma once

#include <string>
#include <vector>

namespace kp {

struct Translation {
    std::vector<std::string> options;  // NVRTC's; no architecture among them
    std::string architecture;          // sm_90, or "" where none was given (or AMD's, which says nothing here)
    std::vector<std::string> notes;    // sentences about what was left out, for the log
    std::string refusal;               // one sentence where an option cannot be honoured
};

// What means the same is translated, what chooses among AMD's own ways of compiling is left out with a note, and what
// would change a program's meaning is refused. Options that are unknown go to NVRTC, which says what it thinks of them.
Translation translate_options(const std::vector<std::string>& given);

}  // namespace kp
