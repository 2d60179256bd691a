// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/file_metadata.hpp>
#include <cofferdam/serve/e2b_gateway/detail/guest_files.hpp>
#include <cofferdam/serve/e2b_gateway/detail/put_upload.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/detail/uploads.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The endpoint `/files` of a sandbox: `GET` downloads a file, and `POST` uploads files.
/// \par Source  the API of envd (E2B's daemon in a sandbox), envd.yaml.
class files_endpoint {
 public:
  files_endpoint(std::shared_ptr<sandbox_registry> core, std::shared_ptr<served_sandbox> sandbox, http_call& call)
      : core_(std::move(core)), sandbox_(std::move(sandbox)), call_(call), query_(call.query()) {}

  /// Returns true if the signature in the URL of a request was made with the sandbox's token.
  static bool is_signed_by(const served_sandbox& sandbox, const http_call& call) {
    if (!sandbox.settings().token) return false;
    const query_fields query(call.query());
    return cofferdam::detail::same_secret(query.value("signature"), due_signature(sandbox, call.method(), query));
  }

  /// Handles the request and sends the reply.
  /// \throws http_refusal or error if no reply was sent.
  static awaitable<void> answer(files_endpoint self) {
    const std::string& method = self.call_.method();
    if (method != "GET" && method != "POST") {
      http_reply reply(405);
      reply.field("Allow", "GET, POST");
      co_await self.call_.reply(std::move(reply));
      co_return;
    }
    self.check_access();
    const std::string_view user = self.query_.value("username");
    if (!user.empty() && user != "user" && user != "root")
      throw http_refusal(401, "error looking up user '" + one_line(user.substr(0, 64)) + "': user: unknown user " +
                                  one_line(user.substr(0, 64)));
    if (method == "GET") {
      co_await self.download();
    } else {
      co_await self.upload();
    }
  }

 private:
  static std::string due_signature(const served_sandbox& sandbox, std::string_view method, const query_fields& query) {
    const std::string_view operation = method == "POST" ? "write" : "read";
    return url_signature(query.value("path"), operation, query.value("username"), *sandbox.settings().token,
                         query.value("signature_expiration"));
  }

  void check_access() const {
    const std::optional<std::string>& token = sandbox_->settings().token;
    if (!token) return;
    if (const auto given = call_.field("X-Access-Token")) {
      if (!cofferdam::detail::same_secret(*given, *token))
        throw http_refusal(401, "access token present in header but does not match");
      return;
    }
    const auto signature = query_.find("signature");
    if (!signature) throw http_refusal(401, "missing signature query parameter");
    if (!cofferdam::detail::same_secret(*signature, due_signature(*sandbox_, call_.method(), query_)))
      throw http_refusal(401, "invalid signature");
    const std::string_view expiration = query_.value("signature_expiration");
    if (expiration.empty()) return;
    const auto until = number_from<std::int64_t>(expiration);
    if (!until ||
        *until < std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                     .count())
      throw http_refusal(401, "signature is already expired");
  }

  /// Converts a failure of the environment to the exception for an HTTP reply.
  http_refusal refusal(const error& failure, std::string_view path) const {
    const std::string name = "'" + one_line(sandbox_->paths().outside(path)) + "'";
    const int status = http_status_of(failure);
    if (status == 404) return {status, "path " + name + " does not exist"};
    if (status == 507) return {status, "not enough disk space available"};
    if (failure.cause() == std::errc::is_a_directory) return {status, "path is a directory: " + name};
    return {status, failure.what()};
  }

  static std::string type_of(std::string_view path) {
    struct row {
      std::string_view ending;
      std::string_view type;
    };
    static constexpr std::array<row, 12> known{{{".txt", "text/plain; charset=utf-8"},
                                                {".html", "text/html; charset=utf-8"},
                                                {".css", "text/css; charset=utf-8"},
                                                {".js", "text/javascript; charset=utf-8"},
                                                {".json", "application/json"},
                                                {".csv", "text/csv; charset=utf-8"},
                                                {".xml", "text/xml; charset=utf-8"},
                                                {".png", "image/png"},
                                                {".jpg", "image/jpeg"},
                                                {".gif", "image/gif"},
                                                {".svg", "image/svg+xml"},
                                                {".pdf", "application/pdf"}}};
    for (const row& entry : known)
      if (path.ends_with(entry.ending)) return std::string(entry.type);
    return "application/octet-stream";
  }

  /// Checks that a path can be downloaded.
  /// \throws http_refusal if the path does not exist, is a directory or is a special file.
  awaitable<void> check_file(std::string path) {
    std::optional<http_refusal> wrong;
    try {
      guest_files files(*sandbox_);
      const directory_entry found = co_await files.stat(path);
      if (found.is_directory())
        wrong = http_refusal(400, "path '" + one_line(sandbox_->paths().outside(path)) + "' is a directory");
      if (found.type() == file_type::other)
        wrong = http_refusal(400, "path '" + one_line(sandbox_->paths().outside(path)) + "' is not a regular file");
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      wrong = refusal(failure, path);
    }
    if (wrong) throw *wrong;
  }

  static http_reply head_of(std::string_view path) {
    http_reply head(200);
    std::string name = one_line(path.substr(path.rfind('/') + 1));
    for (char& c : name)
      if (c == '"' || c == '\\') c = '_';
    // The content is untrusted. A browser must not show it, because a script in it would run in the gateway's origin,
    // and must not guess another type. envd sends `inline`; E2B's SDKs do not read the field.
    head.field("Content-Disposition", "attachment; filename=\"" + name + "\"");
    head.field("Content-Type", type_of(path)).field("X-Content-Type-Options", "nosniff").field("Vary", "Origin");
    return head;
  }

  /// Sends a file that is not in the workspace, or to which a symbolic link in the workspace leads.
  awaitable<void> download_outside(std::string path) {
    guest_files files(*sandbox_);
    std::optional<guest_files::reading> source;
    std::optional<http_refusal> wrong;
    try {
      guest_files::reading opened = co_await files.open_outside(path);
      source = std::move(opened);
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      wrong = refusal(failure, path);
    }
    if (wrong) throw *wrong;
    http_reply head = head_of(path);
    if (!source->size()) {
      co_await call_.begin(std::move(head));
      for (;;) {
        const bytes piece = co_await source->read();
        if (piece.empty()) co_return;
        const bytes_view view(piece);
        co_await call_.write(view);
      }
    }
    std::uint64_t left = *source->size();
    co_await call_.begin(std::move(head), left);
    while (left != 0) {
      bytes piece = co_await source->read();
      if (piece.empty()) break;
      if (piece.size() > left) piece.resize(left);  // the file has grown since the head was sent
      left -= piece.size();
      const bytes_view view(piece);
      co_await call_.write(view);
    }
    if (left != 0) throw error(exec_errc::io_error, "download: the file became shorter during the download");
  }

  awaitable<void> download() {
    const std::string path = sandbox_->paths().locate(query_.value("path"));
    if (path.starts_with('/')) {
      co_await download_outside(path);
      co_return;
    }
    co_await check_file(path);
    std::vector<file_request> requests;
    requests.emplace_back(path, path);
    const std::unique_ptr<file_source> source = co_await sandbox_->environment().files().get_files(std::move(requests));
    const std::optional<file_header> header = co_await source->next();
    if (!header) throw http_refusal(404, "path '" + one_line(sandbox_->paths().outside(path)) + "' does not exist");
    if (header->failure() && header->failure()->code() == exec_errc::outside_workspace) {
      co_await download_outside(path);
      co_return;
    }
    if (header->failure()) throw refusal(*header->failure(), path);
    http_reply head = head_of(path);
    co_await call_.begin(std::move(head), header->size());
    std::uint64_t left = header->size();
    while (left != 0) {
      bytes piece = co_await source->read(cofferdam::detail::file_piece);
      if (piece.empty()) break;
      if (piece.size() > left) piece.resize(left);  // the file has grown since the head was sent
      left -= piece.size();
      const bytes_view view(piece);
      co_await call_.write(view);
    }
    // The file became shorter after the head was sent, so the reply is aborted.
    if (left != 0) throw error(exec_errc::io_error, "download: the file became shorter during the download");
  }

  awaitable<void> upload() {
    const std::string_view coding = call_.field("Content-Encoding").value_or("identity");
    const bool is_gzip = cofferdam::detail::same_ignoring_case(coding, "gzip");
    if (!is_gzip && !cofferdam::detail::same_ignoring_case(coding, "identity") && !coding.empty())
      throw http_refusal(400, "unsupported Content-Encoding: " + one_line(coding.substr(0, 64)) +
                                  ", this gateway accepts gzip or no encoding");
    const metadata_store::values metadata = metadata_store::of(call_.head().fields);
    const std::string_view type = call_.field("Content-Type").value_or(std::string_view());
    const std::string_view plain = cofferdam::detail::without_blanks(type.substr(0, type.find(';')));
    std::optional<std::string> destination;
    if (const auto path = query_.find("path"); path && !path->empty()) {
      destination = sandbox_->paths().locate(*path);
      if (*destination == "." || *destination == "/")
        throw http_refusal(400, "path is a directory: " + sandbox_->paths().outside(*destination));
    }
    std::unique_ptr<upload_source> source;
    if (cofferdam::detail::same_ignoring_case(plain, "application/octet-stream")) {
      if (!destination) throw http_refusal(400, "path query parameter is required for raw body upload");
      source = std::make_unique<raw_upload>(call_, *destination);
    } else if (cofferdam::detail::same_ignoring_case(plain, "multipart/form-data")) {
      std::optional<std::string> boundary = multipart_reader::boundary_of(type);
      if (!boundary) throw http_refusal(400, "multipart/form-data: the boundary is missing or invalid");
      source = std::make_unique<form_upload>(call_, std::move(*boundary), destination, sandbox_->paths());
    } else {
      throw http_refusal(400, "unsupported content type: " + one_line(plain.substr(0, 64)) +
                                  ", expected multipart/form-data or application/octet-stream");
    }
    call_.body_limit(core_->options().upload());
    if (is_gzip) source->decode_gzip(core_->options().upload());
    guest_files files(*sandbox_);
    if (!metadata.empty()) co_await files.check_metadata();
    transfer_result report;
    std::exception_ptr failure;
    try {
      report = co_await in_place_writer::all(*sandbox_, *source);
    } catch (...) {
      failure = std::current_exception();
    }
    if (source->failure()) std::rethrow_exception(source->failure());
    if (failure) std::rethrow_exception(failure);
    if (!report.ok()) throw refusal(report.failed().front().reason(), report.failed().front().source());
    boost::json::array answer;
    for (const transferred_file& file : report.files()) {
      boost::json::object object;
      const std::string whole = sandbox_->paths().outside(file.destination());
      object["name"] = valid_json_text(std::string_view(whole).substr(whole.rfind('/') + 1));
      object["path"] = valid_json_text(whole);
      object["type"] = "file";
      co_await files.set_metadata(file.destination(), metadata);
      metadata_store::describe(object, metadata);
      answer.push_back(std::move(object));
    }
    http_reply reply = text_reply(200, boost::json::serialize(answer));
    reply.field("Vary", "Origin");
    co_await call_.reply(std::move(reply));
  }

  std::shared_ptr<sandbox_registry> core_;
  std::shared_ptr<served_sandbox> sandbox_;
  http_call& call_;
  query_fields query_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
