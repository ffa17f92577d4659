// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "base/core/files.hpp"
#include "storage/tensors/reader.hpp"
#include "storage/tensors/writer.hpp"
#include "support/golden_folder.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::tensors {
namespace {

using testing::HasSubstr;

// One tensor of each type and rank, inside and outside of groups.
struct Sample {
    std::vector<float> weights = iota<float>(6);
    std::vector<double> losses = iota<double>(3);
    std::vector<std::int32_t> steps = iota<std::int32_t>(24);
    std::vector<std::int64_t> offsets = iota<std::int64_t>(4);
    std::vector<std::uint16_t> tokens = iota<std::uint16_t>(5);
    std::vector<std::uint8_t> bytes = iota<std::uint8_t>(7);
    std::vector<float> scalar{2.5F};

    template <class T>
    static std::vector<T> iota(std::size_t n)
    {
        std::vector<T> values(n);
        std::iota(values.begin(), values.end(), T{1});
        return values;
    }

    [[nodiscard]] TensorWriter writer(bool backwards = false) const
    {
        TensorWriter writer;
        auto const half = [&](bool first) {
            if (first) {
                writer.add<float>("weights/transformer.h.0.attn.c_q.weight", {2, 3}, weights);
                writer.add<double>("losses", {3}, losses);
                writer.add<std::int32_t>("weights/deep/steps", {1, 2, 3, 4}, steps);
                writer.attribute("text", "größer");
            } else {
                writer.add<std::int64_t>("offsets", {4}, offsets);
                writer.add<std::uint16_t>("tokens", {5}, tokens);
                writer.add<std::uint8_t>("bytes", {7, 1}, bytes);
                writer.add<float>("scalar", {}, scalar);
                writer.add<float>("empty", {0, 3}, std::span<float const>{});
                writer.attribute("count", -3);
                writer.attribute("rate", 0.1);
                writer.attribute("nothing", "");
            }
        };
        half(!backwards);
        half(backwards);
        return writer;
    }
};

void expect_sample(TensorReader const& reader)
{
    Sample const sample;
    EXPECT_EQ(*reader.read<float>("weights/transformer.h.0.attn.c_q.weight"), sample.weights);
    EXPECT_EQ(*reader.read<double>("losses"), sample.losses);
    EXPECT_EQ(*reader.read<std::int32_t>("weights/deep/steps"), sample.steps);
    EXPECT_EQ(*reader.read<std::int64_t>("offsets"), sample.offsets);
    EXPECT_EQ(*reader.read<std::uint16_t>("tokens"), sample.tokens);
    EXPECT_EQ(*reader.read<std::uint8_t>("bytes"), sample.bytes);
    EXPECT_EQ(*reader.read<float>("scalar"), sample.scalar);
    EXPECT_TRUE(reader.read<float>("empty")->empty());
    EXPECT_EQ(reader.find("scalar")->shape, Shape{});
    EXPECT_EQ(reader.find("empty")->shape, (Shape{0, 3}));
    EXPECT_EQ(reader.find("weights/deep/steps")->shape, (Shape{1, 2, 3, 4}));
    EXPECT_EQ(reader.list().size(), 8U);
    EXPECT_EQ(*reader.attributes().find("text")->as_text(), "größer");
    EXPECT_EQ(*reader.attributes().find("nothing")->as_text(), "");
    EXPECT_EQ(*reader.attributes().find("count")->as_integer(), -3);
    EXPECT_EQ(*reader.attributes().find("rate")->as_number(), 0.1);
    EXPECT_EQ(reader.attributes().members().size(), 4U);
}

TEST(TensorFile, BytesInMemoryRoundTrip)
{
    auto const bytes = Sample{}.writer().encode();
    auto const reader = TensorReader::from_bytes(bytes, "sample");
    ASSERT_TRUE(reader) << reader.error().message();
    expect_sample(*reader);
}

TEST(TensorFile, AViewIsReadInPlace)
{
    auto bytes = Sample{}.writer().encode();
    auto const reader = TensorReader::from_view(std::as_bytes(std::span(bytes)), "sample");
    ASSERT_TRUE(reader) << reader.error().message();
    expect_sample(*reader);
    float const changed = 7;
    std::memcpy(bytes.data() + reader->offset("scalar").value(), &changed, sizeof changed);
    EXPECT_EQ(reader->read<float>("scalar")->front(), changed);
    EXPECT_EQ(TensorReader::from_view({}, "nothing").error().code, ExitCode::data);
}

TEST(TensorFile, AFileRoundTrips)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "sample.h5", Sample{}.writer().encode()));
    auto const reader = TensorReader::open(folder / "sample.h5");
    ASSERT_TRUE(reader) << reader.error().message();
    expect_sample(*reader);
}

TEST(TensorFile, EqualContentGivesEqualBytes)
{
    EXPECT_EQ(Sample{}.writer(true).encode(), Sample{}.writer().encode());
}

TEST(TensorFile, NoObjectHasATimestamp)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a.h5", Sample{}.writer().encode()));
    hid_t const file = H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (auto const* name : {"/", "/weights", "/weights/deep/steps", "/scalar"}) {
        H5O_info_t info;
        ASSERT_GE(H5Oget_info_by_name2(file, name, &info, H5O_INFO_TIME, H5P_DEFAULT), 0);
        EXPECT_EQ(info.atime + info.mtime + info.ctime + info.btime, 0) << name;
    }
    H5Fclose(file);
}

TEST(TensorFile, TensorsAreAlignedInTheFile)
{
    std::vector<float> const marked(100, 12345.678F);
    std::vector<std::uint8_t> const odd(77, 1);
    TensorWriter writer;
    writer.add<std::uint8_t>("a", {77}, odd);
    writer.add<float>("b", {100}, marked);
    auto const bytes = writer.encode();
    auto const at = bytes.find(std::string(reinterpret_cast<char const*>(marked.data()), 400));
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(at % 64, 0U);
}

TEST(TensorFile, SeveralFilesMayBeOpenAtOnce)
{
    test::TemporaryFolder const folder;
    auto const file_of = [](float value) {
        TensorWriter writer;
        writer.add<float>("x", {1}, std::span(&value, 1));
        return writer.encode();
    };
    ASSERT_TRUE(write_file(folder / "a.h5", file_of(3)));
    auto const one = TensorReader::from_bytes(file_of(1), "one");
    auto const two = TensorReader::from_bytes(file_of(2), "two");
    auto const three = TensorReader::open(folder / "a.h5");
    {
        auto const again = TensorReader::open(folder / "a.h5");
        ASSERT_TRUE(again);
    }
    ASSERT_TRUE(write_file(folder / "a.h5", file_of(4)));
    auto const four = TensorReader::open(folder / "a.h5");
    ASSERT_TRUE(one && two && three && four);
    EXPECT_EQ(one->read<float>("x")->front(), 1);
    EXPECT_EQ(two->read<float>("x")->front(), 2);
    EXPECT_EQ(three->read<float>("x")->front(), 3);
    EXPECT_EQ(four->read<float>("x")->front(), 4);
}

TEST(TensorFile, ManyTensorsInOneGroup)
{
    std::vector<float> const value{1};
    TensorWriter writer;
    for (int i = 0; i < 3'000; ++i) writer.add<float>("g/t" + std::to_string(i), {1}, value);
    auto const bytes = writer.encode();
    auto const reader = TensorReader::from_bytes(bytes, "many");
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->list().size(), 3'000U);
    auto const limited = TensorReader::from_bytes(bytes, "many", {.objects = 3'000});
    ASSERT_FALSE(limited);
    EXPECT_THAT(limited.error().message(), HasSubstr("more than 3000 objects"));
    EXPECT_TRUE(TensorReader::from_bytes(bytes, "many", {.objects = 3'001}));
}

TEST(TensorFile, NothingIsConvertedAndErrorsNameTheNearestTensor)
{
    auto const reader = *TensorReader::from_bytes(Sample{}.writer().encode(), "sample");
    EXPECT_THAT(reader.read<double>("tokens").error().message(),
                HasSubstr("tokens holds uint16, expected float64"));
    EXPECT_THAT(reader.read<float>("token").error().message(),
                HasSubstr("did you mean \"tokens\"?"));
    std::array<std::byte, 3> small{};
    EXPECT_THAT(reader.read_into("tokens", Dtype::uint16, small).error().message(),
                HasSubstr("tokens has 10 bytes, expected 3"));
}

TEST(TensorFile, ABrokenContractThrows)
{
    std::vector<float> const two{1, 2};
    TensorWriter writer;
    writer.add<float>("a", {2}, two);
    EXPECT_THROW(writer.add<float>("a", {2}, two), std::invalid_argument);
    EXPECT_THROW(writer.add<float>("b", {3}, two), std::invalid_argument);
    EXPECT_THROW(writer.add<float>("c", {1, 1, 1, 1, 2}, two), std::invalid_argument);
    for (auto const* name : {"", "/a", "a//b", "a/../b", "a b", "a\n"})
        EXPECT_THROW(writer.add<float>(name, {2}, two), std::invalid_argument);
    EXPECT_THROW(writer.attribute("x", json::Array{}), std::invalid_argument);
    EXPECT_THROW(writer.attribute("content_sha256", "x"), std::invalid_argument);
    writer.add<float>("a/b", {2}, two);
    EXPECT_THROW((void)writer.encode(), std::invalid_argument) << "a tensor is no group";
}

TEST(TensorFile, AFileThatCannotBeOpenedIsAnError)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a.h5", "no tensors"));
    EXPECT_EQ(TensorReader::open(folder / "none.h5").error().code, ExitCode::no_input);
    EXPECT_EQ(TensorReader::open(folder / "a.h5").error().code, ExitCode::data);
}

TEST(TensorFile, ThreadsMayReadAndWriteConcurrently)
{
    auto const bytes = Sample{}.writer().encode();
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k) {
                auto const reader = TensorReader::from_bytes(bytes, "sample");
                ASSERT_TRUE(reader);
                EXPECT_EQ(reader->read<float>("scalar")->front(), 2.5F);
                EXPECT_EQ(Sample{}.writer().encode(), bytes);
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(TensorFile, GoldenFilesAreReadable)
{
    int files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(test::golden_folder())) {
        if (entry.path().extension() != ".h5") continue;
        ++files;
        auto const reader = TensorReader::open(entry.path(), {.compressed = true});
        ASSERT_TRUE(reader) << reader.error().message();
        ASSERT_FALSE(reader->list().empty());
        for (auto const& tensor : reader->list()) {
            std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
            auto const read = reader->read_into(tensor.name, tensor.dtype, bytes);
            EXPECT_TRUE(read) << read.error().message();
        }
    }
    EXPECT_GE(files, 1);
}

}  // namespace
}  // namespace curtail::tensors
