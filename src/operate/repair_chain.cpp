// SPDX-License-Identifier: Apache-2.0
#include "operate/repair_chain.hpp"

#include "protocol/records/names.hpp"

namespace curtail::operate {
namespace {

using protocol::commit_name;

tl::unexpected<Error> changed(store::ObjectName const& name)
{
    return fail(ExitCode::temporary, "did not touch " + name.text(),
                "it has changed since the command has read it", "repeat the command");
}

class Repairer {
  public:
    Repairer(chain::RunObjects const& objects, ChainPlan const& plan)
        : objects_(objects), plan_(plan)
    {
    }

    // The newest first: until all are there, a starting process sees that some are missing.
    Result<void> restore()
    {
        for (auto it = plan_.restored.rbegin(); it != plan_.restored.rend(); ++it) {
            auto const& [number, bytes] = *it;
            auto const at = protocol::Ranges::between(number.value, number.value + 1);
            auto done =
                plan_.replaced.contains(at) ? replace(number, bytes) : create(number, bytes);
            if (!done) return done;
        }
        return {};
    }

    Result<void> remove_foreign()
    {
        for (auto const& range : plan_.foreign.list())
            for (auto n = range.begin; n < range.end; ++n) {
                auto const name = name_of({n});
                if (!name) return tl::unexpected(name.error());
                auto const object = read_stored(objects_, {n});
                if (!object) return tl::unexpected(object.error());
                if (*object && (*object)->sha256 != plan_.seen.at({n})) return changed(*name);
                if (auto removed = objects_.store().remove(*name); !removed) return removed;
            }
        return {};
    }

  private:
    [[nodiscard]] Result<store::ObjectName> name_of(CommitNumber number) const
    {
        return chain::object_name(objects_.run(), commit_name(number));
    }

    Result<void> create(CommitNumber number, std::string const& bytes)
    {
        auto const name = name_of(number);
        if (!name) return tl::unexpected(name.error());
        auto const created = objects_.store().create(*name, store::bytes_of(bytes));
        if (!created) return tl::unexpected(created.error());
        if (*created == store::CreateOutcome::created) return {};
        // Another repair may have been faster, or the store has lost its reply.
        auto const object = read_stored(objects_, number);
        if (!object) return tl::unexpected(object.error());
        if (*object && (*object)->sha256 == sha256(bytes)) return {};
        if (!*object)
            return fail(ExitCode::temporary, "cannot create " + name->text(),
                        "the store's reply was lost", "repeat the command");
        return fail(ExitCode::protocol, "cannot repair the chain",
                    commit_name(number) +
                        " has got other bytes meanwhile: another site has gone "
                        "on without the lost commits",
                    "stop all sites, and start a new run with `curtail-store fork`");
    }

    // Leaves no moment without the object, in which another site could create another commit.
    Result<void> replace(CommitNumber number, std::string const& bytes)
    {
        auto const name = name_of(number);
        if (!name) return tl::unexpected(name.error());
        auto const object = read_stored(objects_, number);
        if (!object) return tl::unexpected(object.error());
        if (!*object) return create(number, bytes);
        if ((*object)->sha256 == sha256(bytes)) return {};
        if ((*object)->sha256 != plan_.seen.at(number)) return changed(*name);
        if (objects_.store().put(*name, std::string_view(bytes))) return {};
        // A folder, or a bucket that lets nobody replace a commit.
        if (auto removed = objects_.store().remove(*name); !removed) return removed;
        return create(number, bytes);
    }

    chain::RunObjects const& objects_;
    ChainPlan const& plan_;
};

}  // namespace

Result<void> repair_chain(chain::RunObjects const& objects, ChainPlan const& plan)
{
    Repairer repairer(objects, plan);
    return repairer.restore().and_then([&] { return repairer.remove_foreign(); });
}

}  // namespace curtail::operate
