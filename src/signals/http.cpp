// SPDX-License-Identifier: Apache-2.0
#include "signals/http.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "core/build_info.hpp"
#include "core/text.hpp"

namespace curtail::signals {
namespace {

/// libcurl's one initialisation per process.
void initialise_curl()
{
    static CURLcode const code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

/// The parts of a URL that decide whether it may be asked.
class ParsedUrl {
  public:
    explicit ParsedUrl(std::string const& url) : url_(curl_url(), curl_url_cleanup)
    {
        good_ =
            url_ != nullptr && curl_url_set(url_.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
    }
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] std::string part(CURLUPart which) const
    {
        char* text = nullptr;
        if (curl_url_get(url_.get(), which, &text, 0) != CURLUE_OK || text == nullptr) return {};
        std::unique_ptr<char, decltype(&curl_free)> const owned(text, curl_free);
        return text;
    }

  private:
    std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
    bool good_{false};
};

bool is_loopback(std::string const& host)
{
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) == 1)
        return (ntohl(address.s_addr) >> 24) == 127;
    return host == "localhost" || host == "[::1]";
}

/// For messages: a query may hold what is nobody's business.
std::string without_query(std::string const& url)
{
    return printable(url.substr(0, url.find('?')));
}

std::optional<Error> check_url(ParsedUrl const& url, std::string const& what)
{
    auto const refuse = [&](char const* why, char const* remedy) {
        return Error{ExitCode::config, what, why, remedy};
    };
    if (!url.good()) return refuse("this is not a URL", "write it like https://api.example.org");
    if (!url.part(CURLUPART_USER).empty() || !url.part(CURLUPART_PASSWORD).empty())
        return refuse("it holds a user name or password",
                      "put credentials into their file, not into the URL");
    auto const scheme = url.part(CURLUPART_SCHEME);
    if (scheme == "https" || (scheme == "http" && is_loopback(url.part(CURLUPART_HOST))))
        return std::nullopt;
    return refuse("only https is allowed (http only to this machine)", "use the https address");
}

/// What arrives, counted as it arrives.
struct Arrival {
    std::string body;
    std::size_t body_limit;
    std::size_t header_bytes{0};
    bool body_too_large{false};
    bool header_too_large{false};
};

std::size_t on_body(char const* bytes, std::size_t size, std::size_t count, void* user)
{
    auto& arrival = *static_cast<Arrival*>(user);
    if (size * count > arrival.body_limit - arrival.body.size()) {
        arrival.body_too_large = true;
        return 0;
    }
    arrival.body.append(bytes, size * count);
    return size * count;
}

std::size_t on_header(char const*, std::size_t size, std::size_t count, void* user)
{
    auto& arrival = *static_cast<Arrival*>(user);
    arrival.header_bytes += size * count;
    arrival.header_too_large = arrival.header_bytes > http_header_limit;
    return arrival.header_too_large ? 0 : size * count;
}

Error error_of(CURLcode code, Arrival const& arrival, HttpRequest const& request,
               std::string const& what, char const* detail)
{
    if (arrival.body_too_large)
        return {ExitCode::data, what,
                fmt::format("the answer is larger than {} bytes", arrival.body_limit), ""};
    if (arrival.header_too_large)
        return {ExitCode::data, what,
                fmt::format("headers larger than {} bytes", http_header_limit), ""};
    auto const why = printable(*detail != '\0' ? detail : curl_easy_strerror(code));
    switch (code) {
        case CURLE_OPERATION_TIMEDOUT:
            return {ExitCode::temporary, what,
                    "no whole answer within " + format_duration(request.deadline),
                    "it will be asked again"};
        case CURLE_PEER_FAILED_VERIFICATION:
            return {ExitCode::permission, what, "its certificate is not trusted (" + why + ")",
                    "check the machine's clock and CA certificates, or name the provider's own "
                    "with ca_file"};
        case CURLE_SSL_CACERT_BADFILE:
            return {ExitCode::config, what, "ca_file cannot be used (" + why + ")",
                    "name a PEM file"};
        default:
            return {ExitCode::temporary, what, why, "it will be asked again"};
    }
}

}  // namespace

struct HttpClient::Handle {
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy{nullptr, curl_easy_cleanup};

    template <class T>
    void set(CURLoption option, T value)
    {
        if (curl_easy_setopt(easy.get(), option, value) != CURLE_OK)
            throw std::runtime_error(
                fmt::format("this libcurl refuses option {}", static_cast<int>(option)));
    }
    void prepare(HttpRequest const& request, bool https, std::filesystem::path const& ca_file)
    {
        set(CURLOPT_URL, request.url.c_str());
        set(CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
        if (!https) set(CURLOPT_NOPROXY, "*");
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        if (!ca_file.empty()) {
            set(CURLOPT_CAINFO, ca_file.c_str());
            set(CURLOPT_CAPATH, static_cast<char const*>(nullptr));
        }
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_TIMEOUT_MS, std::max<long>(1, request.deadline.count()));
        set(CURLOPT_USERAGENT, user_agent.c_str());
        if (request.password != nullptr) {
            set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
            set(CURLOPT_USERNAME, request.username.c_str());
            set(CURLOPT_PASSWORD, request.password->reveal());
        } else if (request.bearer != nullptr) {
            set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
            set(CURLOPT_XOAUTH2_BEARER, request.bearer->reveal());
        }
    }
    std::string user_agent{"curtail/" + build_info().version};
};

HttpClient::HttpClient(std::filesystem::path ca_file)
    : handle_(std::make_unique<Handle>()), ca_file_(std::move(ca_file))
{
    initialise_curl();
    handle_->easy.reset(curl_easy_init());
    if (!handle_->easy) throw std::bad_alloc();
}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpResponse> HttpClient::get(HttpRequest const& request)
{
    auto const what = "cannot ask " + without_query(request.url);
    ParsedUrl const url(request.url);
    if (auto error = check_url(url, what)) return tl::unexpected(*error);

    Arrival arrival{.body = {}, .body_limit = request.body_limit};
    char detail[CURL_ERROR_SIZE] = "";
    CURL* const easy = handle_->easy.get();
    handle_->prepare(request, url.part(CURLUPART_SCHEME) == "https", ca_file_);
    handle_->set(CURLOPT_ERRORBUFFER, static_cast<char*>(detail));
    handle_->set(CURLOPT_WRITEFUNCTION, &on_body);
    handle_->set(CURLOPT_WRITEDATA, static_cast<void*>(&arrival));
    handle_->set(CURLOPT_HEADERFUNCTION, &on_header);
    handle_->set(CURLOPT_HEADERDATA, static_cast<void*>(&arrival));
    CURLcode const code = curl_easy_perform(easy);

    HttpResponse response;
    char const* type = nullptr;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &response.status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    if (type != nullptr) response.content_type = type;
    if (retry_after > 0) response.retry_after = Seconds{retry_after};
    curl_easy_reset(
        easy);  // forgets credentials and the pointers into this frame; keeps the connection
    if (code != CURLE_OK) return tl::unexpected(error_of(code, arrival, request, what, detail));
    response.body = std::move(arrival.body);
    return response;
}

}  // namespace curtail::signals
