// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/build_syntax.hpp>
#include <cofferdam/backends/docker/detail/dockerfile_context.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/shared_round.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/detail/net/tar_writer.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The context of a build as a tar archive, which is made piece by piece while it is sent. A file that changes in the
/// meantime is sent with its new content, but with the size that the archive has announced. If a file becomes shorter,
/// the build fails.
class context_archive {
 public:
  explicit context_archive(std::shared_ptr<dockerfile_context> context) : context_(std::move(context)) {}

  /// Returns the next piece of the archive; empty at the end.
  awaitable<bytes> next() {
    bytes piece;
    while (piece.size() < piece_size && !ended_) {
      if (reader_) {
        read(piece);
      } else if (at_ < context_->entries().size()) {
        begin(piece, context_->entries()[at_]);
        ++at_;
      } else if (!extra_sent_) {
        extra_sent_ = true;
        add_extra(piece);
      } else {
        append(piece, writer_.end());
        ended_ = true;
      }
    }
    co_await cofferdam::detail::yield_turn("docker: sending the build's context");
    co_return piece;
  }

 private:
  static constexpr std::size_t piece_size = std::size_t{256} * 1024;

  static void append(bytes& to, const bytes& what) { to.insert(to.end(), what.begin(), what.end()); }

  void begin(bytes& piece, const context_entry& entry) {
    switch (entry.type()) {
      case file_type::directory: {
        cofferdam::detail::tar_entry head(entry.path(), cofferdam::detail::tar_type::directory);
        append(piece, writer_.head(head.mode(entry.mode())));
        append(piece, writer_.padding());
        return;
      }
      case file_type::symlink: {
        cofferdam::detail::tar_entry head(entry.path(), cofferdam::detail::tar_type::symlink);
        append(piece, writer_.head(head.link(entry.target()).mode(0777)));
        append(piece, writer_.padding());
        return;
      }
      default: break;
    }
    reader_.emplace(context_->folder().open_file(entry.path(), link_policy::refuse));
    cofferdam::detail::tar_entry head(entry.path(), cofferdam::detail::tar_type::regular);
    left_ = reader_->size();
    append(piece, writer_.head(head.mode(reader_->mode()).size(left_)));
  }

  void read(bytes& piece) {
    if (left_ != 0) {
      bytes content = reader_->read(std::min<std::uint64_t>(left_, piece_size));
      if (content.empty())
        throw error(exec_errc::io_error,
                    "docker: '" + reader_->path() + "' became shorter while it was sent to the build");
      if (content.size() > left_) content.resize(left_);  // the file has grown; only the announced size is sent
      left_ -= content.size();
      writer_.data(content.size());
      append(piece, content);
    }
    if (left_ != 0) return;
    append(piece, writer_.padding());
    reader_.reset();
  }

  void add_extra(bytes& piece) {
    if (!context_->extra_content()) return;
    const std::string& content = *context_->extra_content();
    cofferdam::detail::tar_entry head(context_->dockerfile(), cofferdam::detail::tar_type::regular);
    append(piece, writer_.head(head.size(content.size())));
    const bytes_view raw = as_bytes(content);
    piece.insert(piece.end(), raw.begin(), raw.end());
    writer_.data(content.size());
    append(piece, writer_.padding());
  }

  std::shared_ptr<dockerfile_context> context_;
  cofferdam::detail::tar_writer writer_;
  std::size_t at_ = 0;
  std::optional<cofferdam::detail::file_reader> reader_;
  std::uint64_t left_ = 0;
  bool extra_sent_ = false;
  bool ended_ = false;
};

/// Sends a context to the builder, and reports the progress of the build to `tell`.
/// \return  the id of the new image; empty if the daemon did not send it.
inline awaitable<std::string> send_build(std::shared_ptr<engine> api, std::string path, builder choice,
                                         std::shared_ptr<dockerfile_context> context, api_call doing,
                                         progress_function tell) {
  if (choice == builder::buildkit) path += "&version=2";
  auto archive = std::make_shared<context_archive>(std::move(context));
  http_request what = api->request("POST", path);
  http_body::source pieces = [archive] { return archive->next(); };
  what.field("Content-Type", "application/x-tar").body(http_body(std::move(pieces)));
  cofferdam::detail::http_limits limits = patient();
  limits.idle(std::nullopt);  // a RUN command may run for any time without output
  cofferdam::detail::http_exchange answer = co_await api->stream(std::move(what), doing, limits);
  std::string id = co_await follow_progress(std::move(answer), doing, std::move(tell));
  co_return id;
}

/// Returns the error for a failed build, with advice if BuildKit's message contains none.
/// \param asks_client  true if the build failed because BuildKit requested data, such as a password, from its client
///                     (this program).
inline error build_error(const error& reason, builder choice, bool asks_client) {
  if (choice != builder::buildkit) return reason;
  const std::string_view message = reason.what();
  std::string advice;
  if (asks_client)
    advice =
        "; this library gives no secrets and ssh keys to builds; pull images from a registry that needs a login before "
        "the build";
  else if (message.find("dockerfile parse error") != std::string_view::npos)
    advice =
        "; if the line is correct, this daemon's BuildKit is too old for its syntax: begin the Dockerfile with \"# "
        "syntax=docker/dockerfile:1\" to pull a newer one, or update the daemon";
  if (advice.empty()) return reason;
  return error(static_cast<exec_errc>(reason.code().value()), std::string(message) + advice, reason.cause());
}

/// Builds an image. If nothing has changed since an earlier build, the daemon's cache makes this fast.
/// \return  the image.
/// \throws  the exceptions of `dockerfile_context`; error{exec_errc::provider_failed}, with the daemon's message, if a
///          line of the Dockerfile fails.
inline awaitable<image> build_image_once(std::shared_ptr<engine> api, build_request request, container_options options,
                                         progress_function tell) {
  request = request.with_folder();
  auto context = std::make_shared<dockerfile_context>(request.context(), request.dockerfile());
  while (!context->step()) co_await cofferdam::detail::yield_turn("docker: reading the build's context");
  boost::json::object arguments;
  for (const auto& [name, value] : request.arguments()) arguments[json_view(name)] = json_text(value);
  // The image's name is derived from the settings of the build, so that a new build replaces the old image.
  std::string key = request.context().string() + "\n" + request.dockerfile().string() + "\n" + request.target();
  key += "\n" + boost::json::serialize(arguments);
  const std::string name = "cofferdam-build:" + cofferdam::detail::sha256_digits(key).substr(0, 32);
  std::string path = "/build?rm=1&forcerm=1&t=" + cofferdam::detail::percent_encoded(name) +
                     "&dockerfile=" + cofferdam::detail::percent_encoded(context->dockerfile());
  path += "&buildargs=" + cofferdam::detail::percent_encoded(boost::json::serialize(arguments));
  if (!request.target().empty()) path += "&target=" + cofferdam::detail::percent_encoded(request.target());
  if (!request.network().empty()) path += "&networkmode=" + cofferdam::detail::percent_encoded(request.network());
  if (!options.platform().empty()) path += "&platform=" + cofferdam::detail::percent_encoded(options.platform());
  if (options.pull() == pull_policy::always) path += "&pull=1";
  const api_call doing = api->call("build an image from", request.context().string());
  const bool is_needed = needs_buildkit(context->dockerfile_text());
  const builder choice = builder_for(api->kind(), api->prefers_buildkit(), is_needed);
  std::string id;
  std::optional<error> failure;
  try {
    id = co_await send_build(api, path, choice, context, doing, tell);
  } catch (const error& reason) {
    failure = reason;
  }
  // BuildKit requests the password of a registry from its client over a separate connection, which this library does
  // not provide. The classic builder does not need that connection.
  const bool asks_client =
      failure && std::string_view(failure->what()).find("no active session") != std::string_view::npos;
  if (failure && choice == builder::buildkit && asks_client && !is_needed) {
    failure.reset();
    id = co_await send_build(api, path, builder::classic, context, doing, tell);
  }
  if (failure) throw build_error(*failure, choice, asks_client);
  if (id.empty()) id = name;
  std::optional<image> built = co_await find_image(api, id);
  if (!built)
    throw error(exec_errc::provider_failed, doing.failed() + ": the daemon reported success, but has no such image");
  co_return std::move(*built);
}

/// Builds an image. If several coroutines of this process build the same image at the same time, they build it one
/// after another, so that all but the first get the result from the daemon's cache.
inline awaitable<image> build_image(std::shared_ptr<engine> api, build_request request, container_options options,
                                    progress_function tell) {
  const std::string key = "build " + api->address() + " " + request.context().string() + " " +
                          request.dockerfile().string() + " " + request.target();
  for (;;) {
    shared_round::turn turn = co_await shared_round::join(key, "building an image");
    if (!turn.is_mine()) continue;  // the image was just built, so building it again is fast
    image built = co_await build_image_once(api, request, options, tell);
    turn.done();
    co_return built;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
