// SPDX-License-Identifier: Apache-2.0
// Loading a run's model from its store, its held-out loss, sampling, and contents of its files.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/core/files.hpp"
#include "storage/tensors/writer.hpp"
#include "support/counting_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/evaluate/committed_model.hpp"
#include "trainer/evaluate/contents.hpp"
#include "trainer/evaluate/genesis_run.hpp"
#include "trainer/evaluate/held_out.hpp"
#include "trainer/evaluate/sample.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/losses.hpp"

namespace curtail::evaluate {
namespace {

using test::small_shape;
using testing::HasSubstr;

class FirstReadDamaged final : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        if (std::exchange(good_, true)) return ForwardingStore::read(name, limit, sink, call);
        auto const damage = [&](std::span<std::byte const> piece, Bytes whole) {
            store::Content bytes(piece.begin(), piece.end());
            bytes.back() ^= std::byte{1};
            sink(bytes, whole);
        };
        return ForwardingStore::read(name, limit, damage, call);
    }

  private:
    bool good_{false};
};

// A run of one commit, in memory.
class StoredRun : public testing::Test, protected test::GenesisRun {
  protected:
    Error error_of(std::optional<CommitNumber> wanted = {})
    {
        return load_committed(run, objects, wanted).error();
    }
    // The weights in a file that is not laid out like those of payload::encode().
    std::string encoded_by_hdf5(std::string const& part = "w0") const
    {
        tensors::TensorWriter writer;
        for (auto const& [key, value] : {std::pair{"format", std::string("curtail.payload/1")},
                                         {"run", run.run.value},
                                         {"part", part}})
            writer.attribute(key, value);
        for (auto const& [name, tensor] : weights.named())
            writer.add<float>(
                name, tensor.sizes().vec(),
                {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())});
        return writer.encode();
    }
    // Stores `bytes` as the payload of the commit that it returns.
    protocol::Commit with_payload(std::string_view bytes)
    {
        auto commit = genesis;
        auto& part = commit.model.weights;
        part.bytes = static_cast<std::int64_t>(bytes.size());
        part.sha256 = sha256(bytes);
        put(part.name, bytes);
        return commit;
    }
};

TEST_F(StoredRun, LoadsItsNewestModel)
{
    for (auto const wanted : {std::optional<CommitNumber>{}, std::optional(CommitNumber{1})}) {
        auto const loaded = load_committed(run, objects, wanted);
        ASSERT_TRUE(loaded) << loaded.error().message();
        EXPECT_EQ(loaded->commit.number, CommitNumber{1});
        EXPECT_TRUE(at::equal(loaded->weights.flat(), weights.flat()));
    }
    EXPECT_EQ(error_of(CommitNumber{2}).code, ExitCode::no_input);
}

TEST_F(StoredRun, AMissingOrDamagedPayloadIsAnError)
{
    auto const name = *chain::object_name(run.run, payload);
    auto bytes = **objects.get(name, Bytes{1 << 24});
    bytes[bytes.size() / 2] ^= std::byte{1};
    put(payload, bytes);
    EXPECT_EQ(error_of().code, ExitCode::protocol);
    EXPECT_THAT(error_of().message(), HasSubstr("sha256"));
    ASSERT_TRUE(objects.remove(name));
    EXPECT_EQ(error_of().code, ExitCode::unavailable);
    EXPECT_THAT(error_of().message(), HasSubstr(payload + " is not in the store"));
    EXPECT_THAT(error_of().message(),
                HasSubstr("`curtail-store repair` can store the model again"));
}

TEST_F(StoredRun, AModelIsReadOnceUnlessAReadFails)
{
    FirstReadDamaged damaged(objects);
    test::CountingStore counting(damaged);
    for (int const reads : {2, 1}) {
        auto const loaded = read_weights(run, chain::RunObjects(counting, run.run), genesis);
        ASSERT_TRUE(loaded) << loaded.error().error.message();
        EXPECT_TRUE(at::equal(loaded->flat(), weights.flat()));
        EXPECT_EQ(counting.take(), reads);
    }
}

TEST_F(StoredRun, ReadsAPayloadThatAnotherProgramEncoded)
{
    auto const loaded =
        read_weights(run, chain::RunObjects(objects, run.run), with_payload(encoded_by_hdf5()));
    ASSERT_TRUE(loaded) << loaded.error().error.message();
    EXPECT_TRUE(at::equal(loaded->flat(), weights.flat()));
}

TEST_F(StoredRun, APayloadWithoutTheModelIsCorrupt)
{
    auto const whole = encoded_by_hdf5();
    for (auto const& [bytes, code, reason] :
         {std::tuple{encoded_by_hdf5("m0"), ExitCode::protocol, "part is m0, expected w0"},
          {whole.substr(0, whole.size() / 2), ExitCode::data, "cannot read tensor file"},
          {std::string("text"), ExitCode::data, "cannot read tensor file"}}) {
        auto const refused =
            read_weights(run, chain::RunObjects(objects, run.run), with_payload(bytes));
        ASSERT_FALSE(refused) << reason;
        EXPECT_EQ(refused.error().cause, store::ReadFailure::Cause::corrupt);
        EXPECT_EQ(refused.error().error.code, code);
        EXPECT_THAT(refused.error().error.message(), HasSubstr(reason));
    }
}

TEST_F(StoredRun, AModelOfAnotherShapeIsAnError)
{
    run.model.heads = run.model.kv_heads = 4;  // the weights have the same shapes
    EXPECT_EQ(error_of().code, ExitCode::config);
    run.run = {"other"};
    EXPECT_EQ(error_of().code, ExitCode::no_input);
}

TEST_F(StoredRun, DataThatItWasNotTrainedOnIsAnError)
{
    auto const loaded = load_committed(run, objects, {});
    ASSERT_TRUE(loaded) << loaded.error().message();
    test::TemporaryFolder const folder;
    run.data.folder = folder.path();
    std::ofstream(folder / data::manifest_file)
        << "manifest";  // the digest of this text is in run.json
    EXPECT_TRUE(check_data(run, loaded->manifest))
        << check_data(run, loaded->manifest).error().message();
    std::ofstream(folder / data::manifest_file) << "another";
    auto const refused = check_data(run, loaded->manifest);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::config);
    EXPECT_THAT(refused.error().message(), HasSubstr("is trained on other data"));
}

TEST_F(StoredRun, DescribesItsModel)
{
    auto const text = contents_text(describe_commit(*load_committed(run, objects, {})));
    EXPECT_THAT(text, HasSubstr("genesis"));
    EXPECT_THAT(text, HasSubstr(payload));
    EXPECT_THAT(text, testing::ContainsRegex("lm_head.weight +float32 +320 x 32  rms 0.001"));
}

// Text whose words repeat, prepared as a run's data.
class PreparedText : public testing::Test {
  protected:
    PreparedText() { test::prepare_text(folder.path()); }
    data::TokenStream stream()
    {
        return data::TokenStream::open(folder / "data", data::Split::held_out).value();
    }

    test::TemporaryFolder folder;
};

TEST_F(PreparedText, HeldOutLossIsTheMeanOverAllTokensExceptTheFirst)
{
    auto held = stream();
    auto weights = model::initial_parameters(small_shape(), 5);
    weights.head().mul_(500);  // far from uniform
    model::Gpt const gpt(std::move(weights));
    auto const found = held_out_loss(gpt, held);
    ASSERT_TRUE(found) << found.error().message();

    std::vector<data::Token> tokens(static_cast<std::size_t>(held.tokens()));
    ASSERT_TRUE(held.read(0, tokens));
    ASSERT_NE((tokens.size() - 1) % 16, 0U) << "the last row should be shorter";
    test::LossSum sum;
    for (std::size_t first = 0; first + 1 < tokens.size(); first += 16) {
        auto const n =
            static_cast<std::int64_t>(std::min<std::size_t>(16, tokens.size() - 1 - first));
        auto ids = at::empty({n + 1}, at::TensorOptions(at::kLong));
        std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(first), n + 1,
                    ids.mutable_data_ptr<std::int64_t>());
        sum += test::loss(gpt, ids.narrow(0, 0, n).unsqueeze(0),
                          ids.narrow(0, 1, n).unsqueeze(0).contiguous());
    }
    EXPECT_EQ(found->tokens, Tokens{sum.count});
    EXPECT_NEAR(found->loss, sum.mean(), 1e-5);
    EXPECT_GT(found->standard_error.value(), 0);
    auto const& part = held.manifest().held_out;
    EXPECT_NEAR(found->bits_per_byte,
                found->loss / std::log(2.0) * static_cast<double>(part.tokens) /
                    static_cast<double>(part.text_bytes),
                1e-9);
    EXPECT_NEAR(found->unigram_entropy, *data::unigram_entropy(held), 1e-12);
}

TEST_F(PreparedText, HeldOutLossEndsSoonAfterAStopRequest)
{
    auto held = stream();
    std::stop_source stop;
    double read = 0;
    auto const found = held_out_loss(
        model::Gpt(model::initial_parameters(small_shape(), 5)), held,
        [&](double done, double) {
            read = done;
            stop.request_stop();
        },
        stop.get_token());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::interrupted);
    EXPECT_LT(read, static_cast<double>(held.tokens() - 1))
        << "the first pass should not be the last";
}

TEST_F(PreparedText, HeldOutLossOfASingleRowHasNoStandardError)
{
    auto held = stream();
    auto shape = small_shape();
    shape.sequence = held.tokens();
    auto const found = held_out_loss(model::Gpt(model::initial_parameters(shape, 5)), held);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_FALSE(found->standard_error);
}

TEST_F(PreparedText, DataWithALargerVocabularyIsAnError)
{
    auto shape = small_shape();
    shape.vocabulary = 290;
    auto held = stream();
    auto const refused = held_out_loss(model::Gpt(model::Parameters(shape)), held);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("vocabulary is 300, the model's 290"));
}

TEST_F(PreparedText, TheSameSeedGivesTheSameText)
{
    auto const tokenizer = data::Tokenizer::read(folder / "data" / data::tokenizer_file).value();
    model::Gpt const gpt(model::initial_parameters(small_shape(), 5));
    SampleSettings settings{.tokens = {40}, .temperature = 1, .seed = 3};
    auto const first = sample_text(gpt, tokenizer, "the wind", settings).value();
    EXPECT_EQ(first.rfind("the wind", 0), 0U);
    EXPECT_GT(first.size(), 20U);
    EXPECT_EQ(sample_text(gpt, tokenizer, "the wind", settings).value(), first);
    settings.seed = 4;
    EXPECT_NE(sample_text(gpt, tokenizer, "the wind", settings).value(), first);
    EXPECT_EQ(sample_text(gpt, tokenizer, "\xff", settings).error().code, ExitCode::data);
}

TEST_F(PreparedText, OnlyTokensThatExistAreDrawn)
{
    std::vector<std::string> ranks;
    for (int byte = 0; byte < 256; ++byte) ranks.emplace_back(1, static_cast<char>(byte));
    ranks.resize(290);
    ranks.emplace_back("the");
    auto const tokenizer = data::Tokenizer::from_ranks(ranks, "gaps").value();
    EXPECT_TRUE(tokenizer.has(255) && tokenizer.has(290) && tokenizer.has(tokenizer.bos()));
    EXPECT_FALSE(tokenizer.has(256) || tokenizer.has(289) || tokenizer.has(300));
    auto shape = small_shape();
    shape.vocabulary = tokenizer.vocabulary_size();
    model::Gpt const gpt(model::initial_parameters(shape, 5));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const text = sample_text(gpt, tokenizer, "", {{40}, 2, seed});
        EXPECT_TRUE(text) << text.error().message();
    }
}

TEST(Draw, FollowsTheProbabilitiesAtItsTemperature)
{
    std::vector<float> const logits{0, static_cast<float>(std::log(3.0)), -1e30F};
    EXPECT_EQ(draw(logits, 0, 0.99), 1U);
    EXPECT_EQ(draw(logits, 1, 0.24), 0U);
    EXPECT_EQ(draw(logits, 1, 0.26), 1U);
    EXPECT_EQ(draw(logits, 0.5, 0.11), 1U);  // 1 : 9
    EXPECT_EQ(draw(logits, 0.5, 0.09), 0U);
    EXPECT_EQ(draw({5, 5}, 0, 0.99), 0U);
}

TEST(Contents, CountsValuesThatAreNotFinite)
{
    test::TemporaryFolder folder;
    std::vector<float> const values{3, -4, std::numeric_limits<float>::quiet_NaN(),
                                    std::numeric_limits<float>::infinity()};
    std::vector<std::int64_t> const numbers{1, 2};
    tensors::TensorWriter writer;
    writer.attribute("format", "test");
    writer.add<float>("w", {2, 2}, values);
    writer.add<std::int64_t>("n", {2}, numbers);
    ASSERT_TRUE(write_file(folder / "x.h5", writer.encode()));
    auto const description = describe_tensors(folder / "x.h5");
    ASSERT_TRUE(description) << description.error().message();
    auto const text = contents_text(*description);
    EXPECT_THAT(text,
                testing::ContainsRegex("w +float32 +2 x 2  rms 3.536 +max abs 4 +2 NOT FINITE"));
    EXPECT_THAT(text, testing::ContainsRegex("n +int64 +2"));
    EXPECT_EQ(describe_tensors(folder / "none.h5").error().code, ExitCode::no_input);
}

}  // namespace
}  // namespace curtail::evaluate
