// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// An image in the answer of a tool. Copies of the object share one buffer.
class tool_image {
 public:
  /// \param content    the image as a file; it is not decoded.
  /// \param mime_type  such as "image/png".
  tool_image(bytes content, std::string mime_type)
      : content_(std::make_shared<const bytes>(std::move(content))), mime_type_(std::move(mime_type)) {}
  /// Returns the image as a file. The reference is valid as long as any copy of this object exists.
  const bytes& content() const noexcept { return *content_; }
  /// Returns the type of the image, such as "image/png".
  const std::string& mime_type() const noexcept { return mime_type_; }

 private:
  std::shared_ptr<const bytes> content_;
  std::string mime_type_;
};

/// The kinds of files that models can listen to or watch.
enum class media_kind {
  audio,  ///< a sound
  video,  ///< moving pictures, with or without sound
};

/// An audio or video file in the answer of a tool. Copies of the object share one buffer.
class tool_media {
 public:
  /// Makes an audio file.
  /// \param content    the file; it is not decoded.
  /// \param mime_type  such as "audio/wav".
  static tool_media audio(bytes content, std::string mime_type) {
    return tool_media(media_kind::audio, std::move(content), std::move(mime_type));
  }
  /// Makes a video.
  /// \param content    the file; it is not decoded.
  /// \param mime_type  such as "video/mp4".
  static tool_media video(bytes content, std::string mime_type) {
    return tool_media(media_kind::video, std::move(content), std::move(mime_type));
  }

  /// Returns the kind of the file.
  media_kind kind() const noexcept { return kind_; }
  /// Returns the file. The reference is valid as long as any copy of this object exists.
  const bytes& content() const noexcept { return *content_; }
  /// Returns the type of the file, such as "audio/wav".
  const std::string& mime_type() const noexcept { return mime_type_; }

 private:
  tool_media(media_kind kind, bytes content, std::string mime_type)
      : kind_(kind), content_(std::make_shared<const bytes>(std::move(content))), mime_type_(std::move(mime_type)) {}

  media_kind kind_;
  std::shared_ptr<const bytes> content_;
  std::string mime_type_;
};

/// The answer of a tool to a model: a text and a success flag, and optionally images, audio, video, JSON data and
/// files.
class tool_result {
 public:
  /// Makes an empty answer that counts as a failure.
  tool_result() = default;
  /// \param text     UTF-8, for the model to read.
  /// \param success  true if the tool completed its task.
  tool_result(std::string text, bool success) : text_(std::move(text)), success_(success) {}

  /// Returns the text, for the model to read.
  const std::string& text() const& noexcept { return text_; }
  std::string text() && { return std::move(text_); }
  /// Returns true if the tool completed its task.
  bool ok() const noexcept { return success_; }

  /// Returns the images to show to the model after the text, in this order.
  const std::vector<tool_image>& images() const& noexcept { return images_; }
  std::vector<tool_image> images() && { return std::move(images_); }
  /// Adds an image at the end.
  tool_result& image(tool_image added) {
    images_.push_back(std::move(added));
    return *this;
  }

  /// Returns the audio and video files to pass to the model after the images, in this order.
  const std::vector<tool_media>& media() const& noexcept { return media_; }
  std::vector<tool_media> media() && { return std::move(media_); }
  /// Adds an audio or video file at the end. The model must support its format.
  tool_result& media(tool_media added) {
    media_.push_back(std::move(added));
    return *this;
  }

  /// Returns the answer as JSON for programs, such as MCP's `structuredContent`. Empty if the tool has set none.
  const boost::json::object& data() const& noexcept { return data_; }
  boost::json::object data() && { return std::move(data_); }
  tool_result& data(boost::json::object facts) {
    data_ = std::move(facts);
    return *this;
  }

  /// Returns the files that the user should receive, as paths in the workspace. Only a tool that ends the work sets
  /// them.
  const std::vector<std::string>& files() const& noexcept { return files_; }
  std::vector<std::string> files() && { return std::move(files_); }
  tool_result& files(std::vector<std::string> paths) {
    files_ = std::move(paths);
    return *this;
  }

 private:
  std::string text_;
  bool success_ = false;
  std::vector<tool_image> images_;
  std::vector<tool_media> media_;
  boost::json::object data_;
  std::vector<std::string> files_;
};

/// A callable that receives the output of a tool piece by piece while the tool works. The output is for display, not
/// for parsing. The callable must not throw.
using tool_output_listener = std::function<void(output_stream stream, bytes_view piece)>;

/// The parameter type of functions that take a `tool_output_listener`. g++ before 13 would destroy the captures of a
/// temporary lambda twice. So with these compilers a temporary lambda that captures by value does not compile here;
/// give it a name first.
using tool_output_argument = cofferdam::detail::callable_argument<void(output_stream stream, bytes_view piece)>;

/// A function that a model can call: a name, a description, a JSON schema of its arguments, and a coroutine.
///
/// * `name()` matches `[A-Za-z0-9_-]{1,64}`; an agent refuses other names. An `mcp::server` also serves tools with dots
///   in their names, and names of up to 128 characters. `description()` is written for the model.
/// * `parameters()` is a JSON schema object of type "object".
/// * `call(arguments)` reports wrong arguments and failed work in its result. It throws only if it is cancelled, or if
///   the environment is lost or closed.
template <class T>
concept tool = requires(T& t, const T& fixed, boost::json::value arguments) {
  { fixed.name() } -> std::convertible_to<std::string_view>;
  { fixed.description() } -> std::convertible_to<std::string_view>;
  { fixed.parameters() } -> std::same_as<boost::json::object>;
  { t.call(std::move(arguments)) } -> awaitable_of<tool_result>;
};

/// A tool that reports its output during a call: `call(arguments, listener)`. The tool does not use the listener after
/// the call has ended.
template <class T>
concept watched_tool = tool<T> && requires(T& t, boost::json::value arguments, tool_output_listener listener) {
  { t.call(std::move(arguments), std::move(listener)) } -> awaitable_of<tool_result>;
};

/// A callable that makes a tool for a given environment: `[](any_environment& env) { return tools::code_exec(env); }`.
template <class Make>
concept tool_maker = std::invocable<std::decay_t<Make>&, any_environment&> &&
                     tool<std::invoke_result_t<std::decay_t<Make>&, any_environment&>>;

/// Returns true if the calls of a tool change nothing, so that an agent may run several of them in parallel. A tool
/// without a member `reads_only()` returns false.
template <class T>
bool reads_only(const T& candidate) {
  if constexpr (requires {
                  { candidate.reads_only() } -> std::same_as<bool>;
                }) {
    return candidate.reads_only();
  } else {
    return false;
  }
}
/// Returns true if a successful call of a tool ends the agent's task. A tool without a member `ends_work()` returns
/// false.
template <class T>
bool ends_work(const T& candidate) {
  if constexpr (requires {
                  { candidate.ends_work() } -> std::same_as<bool>;
                }) {
    return candidate.ends_work();
  } else {
    return false;
  }
}
/// Returns true if a tool passes questions to the user. A tool without the member `asks_user()` returns false.
template <class T>
bool asks_user(const T& candidate) {
  if constexpr (requires {
                  { candidate.asks_user() } -> std::same_as<bool>;
                }) {
    return candidate.asks_user();
  } else {
    return false;
  }
}

/// A tool of any type, so that one list can contain different tools. It can be moved, but not copied.
class any_tool {
 public:
  /// Contains a tool of any type.
  template <class T>
    requires(!std::same_as<T, any_tool> && tool<T>)
  explicit any_tool(T inside) : inside_(std::make_unique<box<T>>(std::move(inside))) {}

  std::string_view name() const { return get().name(); }
  std::string_view description() const { return get().description(); }
  boost::json::object parameters() const { return get().parameters(); }
  bool reads_only() const { return get().reads_only(); }
  bool ends_work() const { return get().ends_work(); }
  /// Returns true if the tool passes questions to the user.
  bool asks_user() const { return get().asks_user(); }
  awaitable<tool_result> call(boost::json::value arguments) { return get().call(std::move(arguments)); }
  /// Calls the tool and passes its output to the listener. A tool that is no `watched_tool` does not use the listener.
  awaitable<tool_result> call(boost::json::value arguments, tool_output_argument listener) {
    return get().call(std::move(arguments), listener.take());
  }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view description() const = 0;
    virtual boost::json::object parameters() const = 0;
    virtual bool reads_only() const = 0;
    virtual bool ends_work() const = 0;
    virtual bool asks_user() const = 0;
    virtual awaitable<tool_result> call(boost::json::value arguments) = 0;
    virtual awaitable<tool_result> call(boost::json::value arguments, tool_output_listener listener) = 0;
  };

  template <class T>
  class box final : public interface {
   public:
    explicit box(T inside) : inside_(std::move(inside)) {}
    std::string_view name() const override { return inside_.name(); }
    std::string_view description() const override { return inside_.description(); }
    boost::json::object parameters() const override { return inside_.parameters(); }
    bool reads_only() const override { return tools::reads_only(inside_); }
    bool ends_work() const override { return tools::ends_work(inside_); }
    bool asks_user() const override { return tools::asks_user(inside_); }
    awaitable<tool_result> call(boost::json::value arguments) override { return inside_.call(std::move(arguments)); }
    awaitable<tool_result> call(boost::json::value arguments, tool_output_listener listener) override {
      if constexpr (watched_tool<T>) {
        return inside_.call(std::move(arguments), std::move(listener));
      } else {
        return inside_.call(std::move(arguments));
      }
    }

   private:
    T inside_;
  };

  interface& get() const {
    if (!inside_) throw error(exec_errc::invalid_argument, "any_tool: empty (moved from); assign a tool first");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
