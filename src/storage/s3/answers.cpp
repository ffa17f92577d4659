// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/answers.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "base/core/text.hpp"

namespace curtail::s3 {
namespace {

// The root element if its name is `name`; otherwise empty.
pugi::xml_node root_of(pugi::xml_document& document, std::string_view xml, char const* name)
{
    if (!document.load_buffer(xml.data(), xml.size())) return {};
    auto const root = document.document_element();
    return std::string_view(root.name()) == name ? root : pugi::xml_node();
}

tl::unexpected<Error> malformed(char const* expected)
{
    return fail(ExitCode::protocol, "cannot understand the object storage",
                std::string("its response is not a valid ") + expected,
                "check that the endpoint is an S3 server");
}

std::optional<Bytes> parse_size(pugi::xml_node node)
{
    std::string_view const text = node.text().get();
    auto const size = parse_number<std::int64_t>(text);
    return size && *size >= 0 ? std::optional(Bytes{*size}) : std::nullopt;
}

std::string text_of(pugi::xml_node parent, char const* name)
{
    return parent.child(name).text().get();
}

}  // namespace

ErrorAnswer parse_error(std::string_view xml)
{
    pugi::xml_document document;
    auto const root = root_of(document, xml, "Error");
    return {text_of(root, "Code"), text_of(root, "Message")};
}

Result<ListPage> parse_list(std::string_view xml)
{
    pugi::xml_document document;
    auto const root = root_of(document, xml, "ListBucketResult");
    if (!root) return malformed("list of objects");
    ListPage page;
    for (auto const node : root.children("Contents")) {
        auto const size = parse_size(node.child("Size"));
        auto const modified = parse_time(text_of(node, "LastModified"));
        if (!size || !modified) return malformed("list of objects");
        page.objects.push_back({text_of(node, "Key"), *size, *modified});
    }
    if (text_of(root, "IsTruncated") == "true") page.next = text_of(root, "NextContinuationToken");
    return page;
}

Result<UploadPage> parse_uploads(std::string_view xml)
{
    pugi::xml_document document;
    auto const root = root_of(document, xml, "ListMultipartUploadsResult");
    if (!root) return malformed("list of uploads");
    UploadPage page;
    for (auto const node : root.children("Upload")) {
        auto const initiated = parse_time(text_of(node, "Initiated"));
        if (!initiated) return malformed("list of uploads");
        page.uploads.push_back({text_of(node, "Key"), text_of(node, "UploadId"), *initiated});
    }
    if (text_of(root, "IsTruncated") == "true") {
        page.next_key = text_of(root, "NextKeyMarker");
        page.next_id = text_of(root, "NextUploadIdMarker");
    }
    return page;
}

Result<std::string> parse_upload_id(std::string_view xml)
{
    pugi::xml_document document;
    auto id = text_of(root_of(document, xml, "InitiateMultipartUploadResult"), "UploadId");
    if (id.empty()) return malformed("start of an upload");
    return id;
}

std::string completion_of(std::vector<std::string> const& etags)
{
    pugi::xml_document document;
    auto root = document.append_child("CompleteMultipartUpload");
    for (std::size_t i = 0; i < etags.size(); ++i) {
        auto part = root.append_child("Part");
        part.append_child("PartNumber").text() = static_cast<unsigned>(i + 1);
        part.append_child("ETag").text() = etags[i].c_str();
    }
    std::ostringstream out;
    document.save(out, "", pugi::format_raw);
    return out.str();
}

Result<bool> parse_versioning(std::string_view xml)
{
    pugi::xml_document document;
    auto const root = root_of(document, xml, "VersioningConfiguration");
    if (!root) return malformed("state of versioning");
    return !text_of(root, "Status").empty();
}

}  // namespace curtail::s3
