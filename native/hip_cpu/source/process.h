// Runs the compiler: a child process that dies with us.
#pragma once

#include <string>
#include <vector>

namespace kp {

struct Finished {
    bool started = false;
    int status = -1;     // exit status, or 128 + signal
    std::string output;  // standard output
    std::string error;   // standard error
    bool ok() const { return started && status == 0; }
};

// Run `argv` in `folder` ("" for the current one), with nothing on standard input.
Finished run(const std::vector<std::string>& argv, const std::string& folder);

// Absolute path of a program: as it stands when it contains a slash, else looked up in PATH; "" if there is none.
std::string find_program(const std::string& name);

// A fresh folder that is removed with everything in it.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }  // "" if it could not be made

private:
    std::string path_;
};

bool write_file(const std::string& path, const std::string& bytes);
bool read_file(const std::string& path, std::string& bytes);
bool make_folders(const std::string& path);

}  // namespace kp
