// What went wrong while work ran: kept until a waiting call returns it, as HIP does with asynchronous errors.
#pragma once

#include <cstddef>
#include <string>

namespace kp {

// "1 byte", "2 bytes".
inline std::string counted_bytes(std::size_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

// The first problem since the last one was taken is kept; `sentence` says what happened and to which kernel or buffer.
void report(int error, const std::string& sentence);

// The kept problem's error code, or success; then forgotten. Its sentence becomes this thread's last one.
int take_problem();

// What a call does that has waited for work: let printf's text out, look at what surrounds buffers, take the problem.
int after_waiting();

// The error code, whose sentence becomes this thread's last one.
int said_of(int error, const std::string& sentence);

// An error without a sentence is on its way out: an earlier sentence does not belong to it.
void forget_sentence();

}  // namespace kp
