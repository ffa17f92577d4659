// The rooms of the house may include only what lies below them: every #include of src/ against the arrows that CMake states.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;
using Arrows = std::map<std::string, std::set<std::string>>;

Arrows stated_arrows()
{
    char const* path = std::getenv("CURTAIL_ARROWS");
    Arrows arrows;
    auto const content = read_file(path == nullptr ? "arrows.txt" : path).value();
    for (auto line : split(content, '\n')) {
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto& targets = arrows[std::string(line.substr(0, colon))];
        for (auto target : split(trim(line.substr(colon + 1)), ' '))
            if (!target.empty()) targets.insert(std::string(target));
    }
    // A room may use whatever the rooms it states may use.
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& [room, targets] : arrows)
            for (auto const& target : std::set(targets))
                for (auto const& further : arrows[target]) grown |= targets.insert(further).second;
    }
    return arrows;
}

/// Names in angle brackets or quotes of every #include line of a file.
std::vector<std::string> includes_of(fs::path const& file)
{
    std::vector<std::string> found;
    auto const content = read_file(file).value();
    for (auto line : split(content, '\n')) {
        line = trim(line);
        if (line.rfind("#include", 0) != 0) continue;
        auto const open = line.find_first_of("<\"");
        auto const close = line.find_last_of(">\"");
        if (open != std::string_view::npos && close > open) found.emplace_back(line.substr(open + 1, close - open - 1));
    }
    return found;
}

template <class Visit>
void each_source(Visit visit)
{
    for (auto const& entry : fs::recursive_directory_iterator(fs::path(CURTAIL_SOURCE_DIR) / "src")) {
        auto const extension = entry.path().extension();
        if (extension == ".hpp" || extension == ".cpp") visit(entry.path());
    }
}

TEST(Arrows, NoRoomIncludesWhatItDoesNotState)
{
    auto const arrows = stated_arrows();
    ASSERT_TRUE(arrows.count("core"));
    each_source([&](fs::path const& file) {
        auto const room = fs::relative(file, fs::path(CURTAIL_SOURCE_DIR) / "src").begin()->string();
        if (room == "apps") return;
        ASSERT_TRUE(arrows.count(room)) << room << " is a folder of src/ without curtail_library(" << room << " ...)";
        for (auto const& name : includes_of(file)) {
            auto const target = name.substr(0, name.find('/'));
            if (target == room || !arrows.count(target)) continue;
            EXPECT_TRUE(arrows.at(room).count(target)) << file << " includes " << name << ", but " << room << " does not state " << target;
        }
    });
}

TEST(Arrows, NoRoomUsesItself)
{
    for (auto const& [room, targets] : stated_arrows()) EXPECT_FALSE(targets.count(room)) << room << " is part of a cycle";
}

TEST(Arrows, PureRoomsKnowNoMpiTorchOrNetwork)
{
    std::set<std::string> const pure{"core", "windows", "plan", "rounds", "energy", "sim", "report"};
    auto const arrows = stated_arrows();
    each_source([&](fs::path const& file) {
        auto const room = fs::relative(file, fs::path(CURTAIL_SOURCE_DIR) / "src").begin()->string();
        for (auto const& name : includes_of(file)) {
            EXPECT_NE(name, "torch/torch.h") << file;
            if (!pure.count(room)) continue;
            for (auto const* banned : {"mpi.h", "nccl.h", "cuda", "ATen", "torch/", "c10/", "curl/"})
                EXPECT_NE(name.rfind(banned, 0), 0U) << file << " includes " << name;
        }
    });
}

}  // namespace
}  // namespace curtail
