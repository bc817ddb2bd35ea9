#include "footprint.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "group.h"

namespace kp {
namespace {

constexpr std::string_view thunk = "kernelperf_thunk_";

template <class T> bool take(std::string_view bytes, std::size_t at, T& value) {
    if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return true;
}

class Object {
public:
    explicit Object(std::string_view bytes) : bytes_(bytes) {
        ElfW(Ehdr) head;
        if (!take(bytes, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_REL) return;
        sections_.resize(head.e_shnum);
        references_.resize(head.e_shnum);
        for (std::size_t i = 0; i < sections_.size(); ++i)
            if (!take(bytes, head.e_shoff + i * sizeof(ElfW(Shdr)), sections_[i])) {
                sections_.clear();
                return;
            }
        for (const ElfW(Shdr)& section : sections_)
            if (section.sh_type == SHT_SYMTAB) read_symbols(section);
        for (const ElfW(Shdr)& section : sections_)
            if (section.sh_type == SHT_RELA && section.sh_info < sections_.size()) read_references(section);
    }

    std::map<std::string, std::size_t> kernels() const {
        std::map<std::string, std::size_t> found;
        for (const ElfW(Sym)& symbol : symbols_)
            if (const std::string_view name = name_of(symbol); name.substr(0, thunk.size()) == thunk && defined(symbol))
                found[std::string(name.substr(thunk.size()))] = shared_from(symbol.st_shndx);
        return found;
    }

private:
    void read_symbols(const ElfW(Shdr)& section) {
        if (section.sh_link < sections_.size()) names_ = bytes_.substr(std::min<std::size_t>(sections_[section.sh_link].sh_offset, bytes_.size()));
        ElfW(Sym) symbol;
        for (std::size_t at = 0; at < section.sh_size && take(bytes_, section.sh_offset + at, symbol); at += sizeof symbol) symbols_.push_back(symbol);
    }

    void read_references(const ElfW(Shdr)& section) {
        ElfW(Rela) entry;
        for (std::size_t at = 0; at < section.sh_size && take(bytes_, section.sh_offset + at, entry); at += sizeof entry)
            if (const std::size_t number = ELF64_R_SYM(entry.r_info); number < symbols_.size()) references_[section.sh_info].insert(number);
    }

    bool defined(const ElfW(Sym)& symbol) const { return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < sections_.size(); }

    std::string_view name_of(const ElfW(Sym)& symbol) const {
        if (symbol.st_name >= names_.size()) return {};
        const std::string_view rest = names_.substr(symbol.st_name);
        return rest.substr(0, rest.find('\0'));
    }

    // Thread-local variables that are reached from a section, less those of the device headers.
    std::size_t shared_from(std::size_t section) const {
        std::set<std::size_t> seen{section}, counted;
        std::vector<std::size_t> left{section};
        std::size_t bytes = 0;
        while (!left.empty()) {
            const std::set<std::size_t>& references = references_[left.back()];
            left.pop_back();
            for (const std::size_t number : references) {
                const ElfW(Sym)& symbol = symbols_[number];
                if (!defined(symbol)) continue;
                if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS) {
                    if (seen.insert(symbol.st_shndx).second) left.push_back(symbol.st_shndx);
                } else if (const std::string_view name = name_of(symbol); counted.insert(number).second && name != "_ZL8kp_index" && name != "_ZL8kp_group") {
                    bytes += symbol.st_size - (name.find("kp_fenced_") != std::string_view::npos ? 2 * fence_bytes : 0);
                }
            }
        }
        return bytes;
    }

    std::string_view bytes_, names_;
    std::vector<ElfW(Shdr)> sections_;
    std::vector<ElfW(Sym)> symbols_;
    std::vector<std::set<std::size_t>> references_;  // by section: numbers of symbols
};

}  // namespace

std::map<std::string, std::size_t> shared_bytes_of(std::string_view relocatable) { return Object(relocatable).kernels(); }

}  // namespace kp
