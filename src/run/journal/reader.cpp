// SPDX-License-Identifier: Apache-2.0
#include "run/journal/reader.hpp"

#include <algorithm>
#include <atomic>

#include "base/core/exceptions.hpp"
#include "run/journal/plan.hpp"

namespace curtail::journal {
namespace {

using Stored = Result<std::optional<StoredPiece>>;

// A file server may show a new piece before it finds the ones before it.
Stored read_patiently(StreamObjects const& objects, PieceNumber number)
{
    constexpr int tries = 3;
    for (int i = 1;; ++i) {
        auto stored = objects.read(number);
        if (!stored || *stored || i == tries) return stored;
    }
}

// Reads `count` pieces from number `from` on, several at a time.
std::vector<Stored> read_pieces(StreamObjects const& objects, PieceNumber from, std::int64_t count)
{
    constexpr std::int64_t most_threads = 8;
    std::vector<Stored> stored(static_cast<std::size_t>(count));
    std::atomic<std::int64_t> next{0};
    run_in_threads(static_cast<std::size_t>(std::min(count, most_threads)), [&](std::size_t) {
        for (auto i = next++; i < count; i = next++)
            stored[static_cast<std::size_t>(i)] = read_patiently(objects, {from.value + i});
    });
    return stored;
}

// Reads a stream backwards, because each piece names the digest of the one before it.
class BackwardReader {
  public:
    // `stored` is when the piece that is read first was stored.
    BackwardReader(StreamObjects const& objects, Cache const& cache, ReadLimits const& limits,
                   std::optional<Time> stored)
        : objects_(objects),
          cache_(cache),
          limits_(limits),
          copied_(cache.newest(objects.id()).number),
          stored_(stored)
    {
    }

    // Adds the newest piece, which has been read.
    void begin(PieceNumber number, StoredPiece piece) { add_read(number, std::move(piece)); }

    // Reads the pieces from number `to` down to `from`.
    Result<void> read(PieceNumber from, PieceNumber to)
    {
        for (auto next = to.value; next >= from.value;) {
            if (add_copy({next})) {
                --next;
            } else {
                auto const count = std::min(batch_at(next), next - from.value + 1);
                if (auto added = add_stored({next - count + 1}, count); !added) return added;
                next -= count;
            }
            if (bytes_ > limits_.bytes)
                return fail(ExitCode::data, "cannot read " + objects_.id().text(),
                            "it has more than " + std::to_string(limits_.bytes) + " bytes",
                            "ask the site's owner");
        }
        return {};
    }

    [[nodiscard]] StreamContent take(PieceNumber to, NamedPieces const& named)
    {
        PieceNumber const first{to.value - std::ssize(entries_) + 1};
        std::ranges::reverse(entries_);
        return assemble(objects_.id(), first, std::move(entries_), named);
    }

  private:
    // How many pieces to read at a time: those without a copy. Without any, the newest piece is
    // read alone; the copies of the others may fit it.
    [[nodiscard]] std::int64_t batch_at(std::int64_t number) const
    {
        constexpr std::int64_t most = 32;
        auto const without_copy = number - copied_.value;
        if (without_copy > 0) return std::min(most, without_copy);
        return expected_ ? most : 1;
    }

    // Adds the piece if the cache has it.
    bool add_copy(PieceNumber number)
    {
        if (!expected_) return false;
        auto const copy = cache_.find(objects_.id(), number, *expected_);
        auto piece = copy ? decode(objects_.id(), number, *copy) : Result<Piece>{};
        if (!copy || !piece) return false;
        add(std::move(*piece));
        return true;
    }

    Result<void> add_stored(PieceNumber from, std::int64_t count)
    {
        auto stored = read_pieces(objects_, from, count);
        for (auto i = count - 1; i >= 0; --i) {
            auto& one = stored[static_cast<std::size_t>(i)];
            if (!one) return tl::unexpected(one.error());
            add_read({from.value + i}, std::move(*one));
        }
        return {};
    }

    void add_read(PieceNumber number, std::optional<StoredPiece> stored)
    {
        if (!stored) return add_missing("it is missing");
        if (!stored->piece) return add_missing(stored->piece.error().message());
        auto& piece = *stored->piece;
        if (expected_ && piece.tip.digest != *expected_)
            return add_missing("the piece after it follows from another one");
        cache_.store(objects_.id(), number, piece.tip.digest,
                     encode(objects_.id(), piece.tip.header, piece.content),
                     entries_.empty() ? stored_ : std::nullopt);
        add(std::move(piece));
    }

    void add(Piece piece)
    {
        bytes_ += std::ssize(piece.content);
        expected_ = piece.tip.header.previous;
        entries_.emplace_back(std::move(piece));
    }

    void add_missing(std::string why)
    {
        expected_.reset();
        entries_.emplace_back(tl::unexpected(std::move(why)));
    }

    StreamObjects const& objects_;
    Cache const& cache_;
    ReadLimits limits_;
    std::vector<PieceOrFault> entries_;  // from the newest to the oldest
    std::optional<Digest> expected_;     // of the next piece to read; empty if unknown
    std::int64_t bytes_{0};
    PieceNumber copied_;          // the newest with a copy
    std::optional<Time> stored_;  // when the newest of `entries_` was stored
};

}  // namespace

Reader::Reader(std::shared_ptr<store::ObjectStore> store, RunId run, Cache cache, ReadLimits limits,
               RunNamedPieces named)
    : store_(std::move(store)),
      run_(std::move(run)),
      cache_(std::move(cache)),
      limits_(limits),
      named_(std::move(named))
{
}

NamedPieces const& Reader::named_pieces_of(StreamObjects const& objects) const
{
    return journal::named_pieces_of(named_, objects.id().site, objects.id().stream);
}

Result<Reader::Newest> Reader::copied(StreamObjects const& objects) const
{
    auto const copy = cache_.newest(objects.id());
    if (copy.number.value == 0) return Newest{};
    auto piece = objects.read(copy.number);
    if (!piece) return tl::unexpected(piece.error());
    if (!*piece) return Newest{};
    auto stored = copy.stored;
    if (!stored) {
        auto const time = objects.stored_at(copy.number);
        if (!time) return tl::unexpected(time.error());
        stored = *time;
    }
    return Newest{copy.number, stored, std::move(*piece)};
}

Result<Reader::Newest> Reader::newest(StreamObjects const& objects) const
{
    auto known = copied(objects);
    if (!known) return known;
    std::optional<Time> stored;  // of the greatest number that exists
    auto const exists = [&](PieceNumber number) {
        return objects.stored_at(number).map([&](std::optional<Time> const& time) {
            if (time) stored = time;
            return time.has_value();
        });
    };
    // A commit may name a later piece than the copies have. If it exists, those before it should.
    auto start = known->number;
    if (auto const& named = named_pieces_of(objects); !named.empty()) {
        auto const last = named.rbegin()->first;
        auto const there = last > start ? exists(last) : Result<bool>(false);
        if (!there) return tl::unexpected(there.error());
        if (*there) start = last;
    }
    auto const number = find_newest(exists, start);
    if (!number) return tl::unexpected(number.error());
    if (number->value > limits_.pieces)
        return fail(ExitCode::data, "cannot read " + objects.id().text(),
                    "it has more than " + std::to_string(limits_.pieces) + " pieces",
                    "ask the site's owner");
    if (*number == known->number) return known;
    return Newest{*number, stored, std::nullopt};
}

Result<StreamContent> Reader::read_range(StreamObjects const& objects, PieceNumber from,
                                         Newest const& to) const
{
    BackwardReader reader(objects, cache_, limits_, to.stored);
    auto next = to.number;
    if (to.piece) {
        reader.begin(next, *to.piece);
        --next.value;
    }
    if (auto read = reader.read(from, next); !read) return tl::unexpected(read.error());
    auto content = reader.take(to.number, named_pieces_of(objects));
    content.stored = to.stored;
    return content;
}

Result<StreamContent> Reader::read(SiteId const& site, Stream stream) const
{
    StreamObjects const objects(store_, {run_, site, stream});
    auto const end = newest(objects);
    if (!end) return tl::unexpected(end.error());
    return read_range(objects, {1}, *end);
}

}  // namespace curtail::journal
