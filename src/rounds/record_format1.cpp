// SPDX-License-Identifier: Apache-2.0
#include "rounds/record_format1.hpp"

#include <algorithm>

#include "rounds/names.hpp"
#include "rounds/record_fields.hpp"

namespace curtail::rounds::format1 {
namespace {

// A record of format 1 on its way to record_format. Keeps the first broken rule.
class Upgrade {
  public:
    explicit Upgrade(json::Object object) : object_(std::move(object)) {}

    [[nodiscard]] json::Object& object() { return object_; }
    [[nodiscard]] std::optional<std::string> const& broken() const { return broken_; }

    void require(bool good, std::string_view key, std::string_view rule)
    {
        if (!good && !broken_) broken_ = std::string(key) + " " + std::string(rule);
    }

    // Adds a key that only record_format has.
    void add(json::Object& to, char const* key, json::Value value)
    {
        require(to.find(key) == nullptr, key, "is not a key of format 1");
        to.set(key, std::move(value));
    }

    void require_null(json::Object const& in, char const* key)
    {
        auto const* found = in.find(key);
        require(found != nullptr && found->is_null(), key, "must be null");
    }

    // Changes the object at `key`. The reader of record_format reports it if there is none.
    template <class Change>
    void object_at(char const* key, Change change)
    {
        auto const* found = object_.find(key);
        if (found == nullptr || found->as_object() == nullptr) return;
        auto copy = *found->as_object();
        change(copy);
        object_.set(key, std::move(copy));
    }

    // Changes each object in the list at `key`.
    template <class Change>
    void each(char const* key, Change change)
    {
        auto const* found = object_.find(key);
        if (found == nullptr || found->as_array() == nullptr) return;
        auto list = *found->as_array();
        for (auto& value : list)
            if (auto* element = value.as_object()) change(*element);
        object_.set(key, std::move(list));
    }

    // Removes the value at `key` and returns it; null if there is none.
    json::Value take(char const* key)
    {
        auto const* found = object_.find(key);
        auto value = found != nullptr ? *found : json::Value();
        object_.erase(key);
        return value;
    }

  private:
    json::Object object_;
    std::optional<std::string> broken_;
};

// The digest of a record of format 1, which leaves out `self` and `sig`.
std::string digest_of(json::Object object)
{
    object.erase("self");
    object.erase("sig");
    return sha256(json::canonical(std::move(object))).hex();
}

tl::unexpected<Error> refused(std::string const& name, std::string why)
{
    return fail(ExitCode::protocol, "refused record " + name, std::move(why));
}

// Parses a record, and removes `self` and `sig`.
Result<Upgrade> open(std::string_view bytes, std::string const& name)
{
    auto object = fields::open(bytes, name);
    if (!object) return tl::unexpected(object.error());
    if (object->integer_at("format") != first_format) {
        if (auto error = fields::other_format(*object, name))
            return tl::unexpected(std::move(*error));
        return refused(name, "its format is not 1");
    }
    auto const* sig = object->find("sig");
    if (sig == nullptr || !sig->is_null()) return refused(name, "sig must be null");
    auto const stated = object->text_at("self");
    if (auto const found = digest_of(*object); stated != found)
        return refused(name,
                       "its bytes have changed (self says " + stated + ", found " + found + ")");
    object->erase("self");
    object->erase("sig");
    object->set("format", record_format);
    return Upgrade(std::move(*object));
}

void upgrade_member(Upgrade& record, json::Object& member)
{
    record.add(member, "refused", 0);
    record.require_null(member, "mpi");
}

void upgrade_decided(Upgrade& record, json::Object& decided)
{
    record.add(decided, "skipped", json::Array{});
    record.require(decided.text_at("reason") != to_text(Refusal::norm), "reason",
                   "is unknown in format 1");
}

void upgrade_removed(Upgrade& record, json::Object const& removed)
{
    auto const reason = removed.text_at("reason");
    bool const known =
        reason != to_text(Removal::quarantined) && reason != to_text(Removal::payload_missing);
    record.require(known, "reason", "is unknown in format 1");
}

void upgrade_commit(Upgrade& record)
{
    record.add(record.object(), "amended", nullptr);
    record.add(record.object(), "skipped", json::Array{});
    record.add(record.object(), "terms", fields::of(Terms{}));
    record.require_null(record.object(), "plan");
    record.object_at("data", [&](json::Object& o) { record.add(o, "aside", json::Array{}); });
    record.each("members", [&](json::Object& o) { upgrade_member(record, o); });
    record.each("decided", [&](json::Object& o) { upgrade_decided(record, o); });
    record.each("removed", [&](json::Object& o) { upgrade_removed(record, o); });
    record.each("quarantine",
                [&](json::Object&) { record.require(false, "quarantine", "must be empty"); });
}

// The names in `sites[{name, key: null}]`.
json::Array names_of_sites(Upgrade& record)
{
    json::Array names;
    auto const sites = record.take("sites");
    record.require(sites.as_array() != nullptr, "sites", "must be a list");
    if (sites.as_array() == nullptr) return names;
    for (auto const& site : *sites.as_array()) {
        auto const* object = site.as_object();
        bool const good = object != nullptr && object->members().size() == 2;
        record.require(good, "sites", "must have objects with name and key");
        if (!good) continue;
        record.require_null(*object, "key");
        names.emplace_back(object->text_at("name"));
    }
    return names;
}

// The budget in `training{tokens}`, which not every run has.
json::Value budget_of(Upgrade& record)
{
    auto const training = record.take("training");
    if (training.is_null()) return {};
    auto const* object = training.as_object();
    bool const good = object != nullptr && object->members().size() == 1 &&
                      object->integer_at("tokens").has_value();
    record.require(good, "training", "must be an object with tokens");
    return good ? json::Value(*object->integer_at("tokens")) : json::Value();
}

// Format 1 has the terms as fields of run.json itself, and fewer parameters.
void upgrade_run(Upgrade& record)
{
    auto const defaults = *fields::of(Terms{}).find("params")->as_object();
    record.object_at("params", [&](json::Object& params) {
        for (auto const* key :
             {"max_aside", "repair_wait_ms", "status_interval_ms", "sweep_after_ms"})
            record.add(params, key, *defaults.find(key));
    });
    record.require(record.object().find("fork") == nullptr, "fork", "is not a key of format 1");
    json::Object terms{{"outer", record.take("outer")}, {"params", record.take("params")}};
    terms.set("sites", names_of_sites(record)).set("tokens", budget_of(record));
    record.add(record.object(), "terms", std::move(terms));
}

void upgrade_header(Upgrade& record)
{
    record.add(record.object(), "skipped", json::Array{});
    record.require_null(record.object(), "mpi");
    record.object().set("mpi", false);
}

// The record in record_format.
Result<json::Object> upgraded(std::string_view bytes, std::string const& name,
                              void (*upgrade)(Upgrade& record))
{
    auto record = open(bytes, name);
    if (!record) return tl::unexpected(record.error());
    upgrade(*record);
    if (record->broken()) return refused(name, *record->broken());
    return std::move(record->object());
}

}  // namespace

bool is_intact(json::Object const& object)
{
    return object.integer_at("format") == first_format && object.find("sig") != nullptr &&
           object.text_at("self") == digest_of(object);
}

Result<RunSpec> decode_run(std::string_view bytes)
{
    auto object = upgraded(bytes, run_name, upgrade_run);
    if (!object) return tl::unexpected(object.error());
    auto run = fields::run_spec(std::move(*object));
    if (run) run->format = first_format;
    return run;
}

Result<Commit> decode_commit(std::string_view bytes, std::string const& name)
{
    auto object = upgraded(bytes, name, upgrade_commit);
    if (!object) return tl::unexpected(object.error());
    auto commit = fields::commit(std::move(*object), name);
    if (commit) commit->format = first_format;
    return commit;
}

Result<Header> decode_header(std::string_view bytes, std::string const& name)
{
    auto object = upgraded(bytes, name, upgrade_header);
    if (!object) return tl::unexpected(object.error());
    return fields::header(std::move(*object), name);
}

}  // namespace curtail::rounds::format1
