// SPDX-License-Identifier: Apache-2.0
#include "simulator/header_reads.hpp"

namespace curtail::protocol::simulator {
namespace {

bool is_header(std::string const& name) { return name.rfind("contrib/", 0) == 0; }

}  // namespace

void HeaderReads::ask(std::string const& name)
{
    if (is_header(name)) asked_.insert(name);
}

void HeaderReads::begin(std::string const& name) { missing_.erase(name); }

void HeaderReads::refuse(std::string const& name, Millis now)
{
    if (is_header(name)) refused_since_.try_emplace(name, now);
}

void HeaderReads::answer(std::string const& name, std::string const* bytes,
                         RecordDecoder const& decoder, Millis now)
{
    if (!is_header(name)) return;
    refused_since_.erase(name);
    if (bytes == nullptr) missing_.insert(name);
    else if (!decoder.header(*bytes, name))
        ++damaged_.try_emplace(name, 0, now).first->second.first;
}

bool HeaderReads::has_asked_for(std::string const& name) const { return asked_.contains(name); }

bool HeaderReads::allow_removal(std::string const& name, Millis long_ago, Millis now) const
{
    auto const refused = refused_since_.find(name);
    auto const damaged = damaged_.find(name);
    bool const refused_long = refused != refused_since_.end() && refused->second <= long_ago;
    bool const unreadable = damaged != damaged_.end() && damaged->second.first >= 6 &&
                            now - damaged->second.second >= Seconds{30};
    return missing_.contains(name) || refused_long || unreadable;
}

}  // namespace curtail::protocol::simulator
