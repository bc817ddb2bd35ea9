// Compiling in a process of its own, for options that NVRTC does not forget.
#include "apart.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace kp {
namespace {

void append(std::string& message, const std::string& text) {
    const std::uint64_t size = text.size();
    message.append(reinterpret_cast<const char*>(&size), sizeof size);
    message += text;
}

// Takes what append() wrote, text by text; whole is false once the message ends early.
struct Reader {
    const std::string& message;
    std::size_t place = 0;
    bool whole = true;

    std::string next() {
        std::uint64_t size = 0;
        if (message.size() - place < sizeof size) return fail();
        std::memcpy(&size, message.data() + place, sizeof size);
        place += sizeof size;
        if (message.size() - place < size) return fail();
        place += size;
        return message.substr(place - size, size);
    }
    std::string fail() {
        whole = false;
        return "";
    }
};

bool write_all(int file, const std::string& message) {
    std::size_t written = 0;
    while (written < message.size()) {
        const ssize_t count = write(file, message.data() + written, message.size() - written);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) written += static_cast<std::size_t>(count);
    }
    return true;
}

std::string read_all(int file) {
    std::string message;
    char piece[1 << 16];
    while (true) {
        const ssize_t count = read(file, piece, sizeof piece);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return message;
        message.append(piece, static_cast<std::size_t>(count));
    }
}

// The child's whole life. It leaves without running anybody's exit handlers: they are the parent's.
[[noreturn]] void compile_and_tell(int file, pid_t parent, Program& program, const std::function<int(Program&)>& compile) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    std::string message;
    append(message, std::to_string(compile(program)));
    append(message, program.log);
    append(message, program.code);
    for (const std::string& name : program.lowered) append(message, name);
    _exit(write_all(file, message) ? 0 : 1);
}

int refuse(Program& program, const std::string& sentence) {
    program.log += "error: " + sentence + "\n";
    return rtc_internal_error;
}

}  // namespace

bool stays_behind(const std::string& option) { return option == "--restrict" || option == "-restrict"; }

int compile_apart(Program& program, const std::function<int(Program&)>& compile) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return refuse(program, std::string("no pipe to the compiler's process: ") + std::strerror(errno));
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        compile_and_tell(ends[1], parent, program, compile);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return refuse(program, std::string("no process for the compiler: ") + std::strerror(errno));
    }
    const std::string message = read_all(ends[0]);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    Reader reader{message};
    const std::string result = reader.next(), log = reader.next(), code = reader.next();
    std::vector<std::string> lowered;
    while (reader.whole && reader.place < message.size()) lowered.push_back(reader.next());
    if (!reader.whole || result.empty())
        return refuse(program, WIFSIGNALED(status) ? std::string("NVRTC's process died of ") + strsignal(WTERMSIG(status))
                                                   : "NVRTC's process ended without an answer");
    program.log = log;
    program.code = code;
    program.lowered = lowered;
    return std::stoi(result);
}

}  // namespace kp
