// SPDX-License-Identifier: Apache-2.0
// Files whose head Curtail encodes itself, read by HDF5.
#include "storage/tensors/head.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "base/core/digest.hpp"
#include "storage/tensors/lookup3.hpp"
#include "storage/tensors/reader.hpp"

namespace curtail::tensors {
namespace {

struct Image {
    std::string bytes;
    std::vector<float> values;
    std::size_t head;
};

// The elements of all tensors are 0, 1, 2 and so on.
Image image_of(std::vector<TensorInfo> const& tensors, json::Object const& attributes)
{
    Image image{encode_head(tensors, attributes).bytes, {}, 0};
    image.head = image.bytes.size();
    std::int64_t count = 0;
    for (auto const& info : tensors) count += info.elements();
    for (std::int64_t i = 0; i < count; ++i) image.values.push_back(static_cast<float>(i));
    image.bytes.append(reinterpret_cast<char const*>(image.values.data()),
                       image.values.size() * sizeof(float));
    return image;
}

std::vector<TensorInfo> const small{{"w.b", Dtype::float32, {2, 3}},
                                    {"w.a", Dtype::float32, {4}},
                                    {"scalar", Dtype::float32, {}},
                                    {"four", Dtype::float32, {1, 2, 1, 5}}};

TEST(Head, HdfFiveReadsAllTensorsAndAttributes)
{
    auto const image = image_of(small, {{"format", "f/1"}, {"run", "höhe"}, {"part", ""}});
    EXPECT_EQ(static_cast<std::int64_t>(image.head) % head_alignment, 0);
    auto const reader = TensorReader::from_bytes(image.bytes, "image");
    ASSERT_TRUE(reader) << reader.error().message();
    ASSERT_EQ(reader->list().size(), small.size());
    std::size_t before = 0;
    for (auto const& info : small) {
        ASSERT_NE(reader->find(info.name), nullptr) << info.name;
        EXPECT_EQ(*reader->find(info.name), info);
        EXPECT_EQ(reader->offset(info.name),
                  static_cast<std::int64_t>(image.head + before * sizeof(float)));
        auto const read = reader->read<float>(info.name);
        ASSERT_TRUE(read) << read.error().message();
        for (std::size_t i = 0; i < read->size(); ++i)
            EXPECT_EQ((*read)[i], static_cast<float>(before + i)) << info.name;
        before += read->size();
    }
    EXPECT_EQ(reader->attributes().text_at("format"), "f/1");
    EXPECT_EQ(reader->attributes().text_at("run"), "höhe");
}

TEST(Head, ManyTensorsFit)
{
    std::vector<TensorInfo> tensors;
    tensors.reserve(900);
    for (int i = 0; i < 900; ++i)
        tensors.push_back({"transformer.h." + std::to_string(i) + "." + std::string(200, 'x'),
                           Dtype::float32,
                           {1 + i % 7}});
    auto const image = image_of(tensors, {{"format", "f/1"}});
    auto const reader = TensorReader::from_bytes(image.bytes, "image");
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->list().size(), tensors.size());
    auto const last = reader->read<float>(tensors.back().name);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->back(), image.values.back());
}

// Stored runs depend on these bytes: a site that repairs a model makes them again.
TEST(Head, ItsBytesNeverChange)
{
    EXPECT_EQ(sha256(encode_head(small, {{"format", "f/1"}, {"part", "w0"}}).bytes).hex(),
              "7fe2631a2a06bafe5e5e76b4b9029b132db8ea389e9fabbbbc9deea1eaddded2");
}

TEST(Head, EveryDamageOfTheMetadataIsNoticed)
{
    auto image = image_of(small, {{"format", "f/1"}});
    std::size_t const used = image.bytes.find_last_not_of('\0', image.head - 1) + 1;
    ASSERT_LT(used, image.head);
    for (std::size_t i = 0; i < used; ++i) {
        image.bytes[i] = static_cast<char>(image.bytes[i] ^ 0x10);
        auto const reader = TensorReader::from_bytes(image.bytes, "image");
        EXPECT_FALSE(reader) << "byte " << i;
        image.bytes[i] = static_cast<char>(image.bytes[i] ^ 0x10);
    }
}

// HDF5 stores the same types and values, so it finds that they are equal.
TEST(Head, EachTypeIsThatOfHdfFive)
{
    std::vector<TensorInfo> tensors;
    for (auto const dtype :
         {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64, Dtype::uint16, Dtype::uint8})
        tensors.push_back({std::string("group/deep/") + name_of(dtype), dtype, {3}});
    tensors.push_back({"group/empty", Dtype::int32, {0, 3}});
    json::Object const attributes{{"real", 0.1}, {"text", "größer"}, {"whole", -3}};
    auto const head = encode_head(tensors, attributes, 64);
    auto bytes = head.bytes;
    bytes.resize(static_cast<std::size_t>(head.file_bytes));
    auto const reader = TensorReader::from_bytes(bytes, "image");
    ASSERT_TRUE(reader) << reader.error().message();
    ASSERT_EQ(reader->list().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_EQ(reader->info(tensors[i].name).value(), tensors[i]);
        EXPECT_EQ(head.offsets[i] % 64, 0);
        EXPECT_EQ(reader->offset(tensors[i].name).value_or(head.offsets[i]), head.offsets[i]);
    }
    EXPECT_EQ(reader->attributes(), attributes);
}

TEST(Head, RefusesWhatItCannotStore)
{
    using Tensors = std::vector<TensorInfo>;
    for (auto const& bad : {Tensors{{"a/b", Dtype::float32, {1}}, {"a", Dtype::float32, {1}}},
                            Tensors{{"a", Dtype::float32, {1}}, {"a/b", Dtype::float32, {1}}},
                            Tensors{{"a", Dtype::float64, {-1}}}, Tensors{{"", Dtype::int32, {1}}},
                            Tensors{{"/a", Dtype::float32, {1}}}, Tensors{{"a/", Dtype::uint8, {}}},
                            Tensors{{"a", Dtype::float32, {1}}, {"a", Dtype::float32, {1}}}})
        EXPECT_THROW((void)encode_head(bad, {}), std::invalid_argument);
    EXPECT_THROW((void)encode_head(small, {{"n", json::Array{}}}), std::invalid_argument);
    EXPECT_THROW((void)encode_head(small, {{"n", std::string(70'000, 'x')}}),
                 std::invalid_argument);
}

TEST(Lookup3, OfTheExampleOfItsAuthor)
{
    EXPECT_EQ(lookup3(""), 0xdeadbeefU);
    EXPECT_EQ(lookup3("Four score and seven years ago"), 0x17770551U);
}

}  // namespace
}  // namespace curtail::tensors
