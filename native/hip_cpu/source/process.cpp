#include "process.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

extern char** environ;

namespace kp {
namespace {

// A compiler that never ends (endless constant evaluation) is stopped by its own processor time limit, which its
// children inherit: they outlive a killed driver.
constexpr rlim_t compiler_seconds = 600;

[[noreturn]] void become(const std::vector<char*>& argv, const char* folder, int out, int error, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const rlimit limit{compiler_seconds, compiler_seconds};
    setrlimit(RLIMIT_CPU, &limit);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0) _exit(127);
    if (*folder != '\0' && chdir(folder) != 0) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(argv[0], argv.data());
    _exit(127);
}

void drain(int out, int error, Finished& result) {
    pollfd waits[2] = {{out, POLLIN, 0}, {error, POLLIN, 0}};
    std::string* texts[2] = {&result.output, &result.error};
    char buffer[65536];
    for (int open = 2; open > 0;) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR) break;
        for (int i = 0; i < 2; ++i) {
            if (waits[i].fd < 0 || waits[i].revents == 0) continue;
            const ssize_t n = read(waits[i].fd, buffer, sizeof buffer);
            if (n > 0) texts[i]->append(buffer, static_cast<std::size_t>(n));
            else if (n == 0 || errno != EINTR) {
                waits[i].fd = -1;
                --open;
            }
        }
    }
}

int remove_entry(const char* path, const struct stat*, int, struct FTW*) { return remove(path); }

}  // namespace

Finished run(const std::vector<std::string>& argv, const std::string& folder) {
    Finished result;
    std::vector<char*> pointers;
    for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    int out[2], error[2];
    if (pipe2(out, O_CLOEXEC) != 0) return result;
    if (pipe2(error, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return result;
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) become(pointers, folder.c_str(), out[1], error[1], parent);
    close(out[1]);
    close(error[1]);
    if (child > 0) {
        result.started = true;
        drain(out[0], error[0], result);
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    close(out[0]);
    close(error[0]);
    return result;
}

std::string find_program(const std::string& name) {
    if (name.empty()) return "";
    if (name.find('/') != std::string::npos) {
        if (access(name.c_str(), X_OK) != 0) return "";
        // A compiler knows itself by the name it is called with (clang++ is a link to clang), so only make it absolute.
        std::string absolute = name;
        if (name.front() != '/') {
            char* here = getcwd(nullptr, 0);
            if (here != nullptr) absolute = std::string(here) + "/" + name;
            free(here);
        }
        return absolute;
    }
    const char* path = getenv("PATH");
    std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t at = 0; at <= folders.size();) {
        std::size_t end = folders.find(':', at);
        if (end == std::string::npos) end = folders.size();
        if (end > at) {
            const std::string candidate = folders.substr(at, end - at) + "/" + name;
            struct stat info;
            if (access(candidate.c_str(), X_OK) == 0 && stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode))
                return candidate;
        }
        at = end + 1;
    }
    return "";
}

TemporaryFolder::TemporaryFolder() {
    const char* base = getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/kernelperf-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    if (!path_.empty()) nftw(path_.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool write_file(const std::string& path, const std::string& bytes) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
    }
    return (close(fd) == 0) && done == bytes.size();
}

bool read_file(const std::string& path, std::string& bytes) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bytes.clear();
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) bytes.append(buffer, static_cast<std::size_t>(n));
    close(fd);
    return n == 0;
}

bool make_folders(const std::string& path) {
    for (std::size_t at = 1; at <= path.size(); ++at)
        if (at == path.size() || path[at] == '/')
            if (mkdir(path.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST) return false;
    return true;
}

}  // namespace kp
