// SPDX-License-Identifier: Apache-2.0
#include "operate/run_record.hpp"

#include "operate/stored_commits.hpp"
#include "protocol/records/names.hpp"

namespace curtail::operate {

using Form = RunRecord::Form;

Result<RunRecord> look_at_run_record(chain::RunObjects const& objects)
{
    auto const record = objects.record(protocol::run_name);
    if (!record && !protocol::is_bad_record(record.error().code))
        return tl::unexpected(record.error());
    auto const first = read_stored(objects, {1});
    if (!first) return tl::unexpected(first.error());
    auto const named = *first ? (*first)->parent : Digest{};  // all zero if it is no commit
    if (record && !*record) return RunRecord{Form::missing, named};
    auto const stored = record ? sha256(**record) : Digest{};
    // Another sound record is that of a run that began again.
    bool const sound = record && protocol::decode_run(**record).has_value();
    bool const damaged = !sound && named != Digest{} && stored != named;
    return damaged ? RunRecord{Form::damaged, named} : RunRecord{Form::good, stored};
}

Result<bool> restore_run_record(chain::RunObjects const& objects, chain::RecordCache& copies,
                                RunRecord const& record)
{
    auto const copy = copies.find(protocol::run_name, record.sha256);
    if (!copy) return false;
    auto const name = chain::object_name(objects.run(), protocol::run_name);
    if (!name) return tl::unexpected(name.error());
    if (record.form == Form::damaged)
        if (auto removed = objects.store().remove(*name); !removed)
            return tl::unexpected(removed.error());
    auto const created = objects.store().create(*name, store::bytes_of(*copy));
    if (!created) return tl::unexpected(created.error());
    return true;
}

}  // namespace curtail::operate
