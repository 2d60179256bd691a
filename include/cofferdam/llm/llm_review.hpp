// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/review_verdict.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

class reviewer;

/// Makes a reviewer with the default settings.
std::shared_ptr<reviewer> make_reviewer(any_chat_model model);

/// Returns the refusal of the code of a request; no value if the code may run.
/// \param request  the caller keeps it until the awaitable completes.
awaitable<std::optional<code_result>> review(std::shared_ptr<reviewer> asks, const code_request& request);

}  // namespace detail

/// The runner type of `runner | llm_review(model)`.
template <code_runner Inner>
class llm_review_layer : public code_layer<llm_review_layer<Inner>, Inner> {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  llm_review_layer()
    requires std::default_initializable<Inner>
  = default;
  llm_review_layer(Inner inner, std::shared_ptr<detail::reviewer> asks)
      : code_layer<llm_review_layer, Inner>(std::move(inner)), reviewer_(std::move(asks)) {}

  /// The review is costly, so that all cheap guards of the stack decide before it.
  static constexpr guard_cost cost = guard_cost::costly;

  awaitable<std::optional<code_result>> admit(const code_request& request) {
    if (!reviewer_)
      throw error(exec_errc::environment_closed,
                  "llm_review: not open (default-constructed or moved from); call open() on the runner's recipe first");
    return detail::review(reviewer_, request);
  }

 private:
  std::shared_ptr<detail::reviewer> reviewer_;
};

/// Lets a model review code before the code runs: `local() | python() | check_syntax() | llm_review(model)`.
///
/// **A review can only refuse code**: it never weakens the isolation by the backend. Code runs only after a complete,
/// valid verdict "allow" that repeats a random word of the request and the hash of the code. In all other cases the
/// code is refused: no answer, a late or invalid answer, "ask" (because there is no user to decide), a risk above
/// "low", or one of the categories secrets, sandbox_escape, remote_code and prompt_injection.
///
/// The code is sent to the model as JSON data after a fixed instruction, with the request's prelude and the signatures
/// of its functions, which the model needs to understand the code and is told not to judge. Python code is sent a
/// second time without its comments and texts, which could contain orders to the reviewer. Code that cannot be reviewed
/// is refused without a request: code of more than 64 KiB, with invisible characters or characters that change the
/// reading order, or with long encoded data. Allowed code is cached for an hour, at most 256 pieces, by a hash of the
/// code, its prelude and functions, and the context.
///
/// All cheap guards decide before the model, wherever `llm_review` is listed. Code that such a guard refuses (because
/// of a syntax error or an import) is never sent to the model.
///
/// A review sees one piece of code. It does not detect an attack that is spread over several runs of a context or
/// hidden in data.
/// \param  model  any `chat_model`; preferably not the model that writes the code.
/// \return        a refusal is a `code_result` of kind `error_kind::security_violation` that names the categories, but
///                has no text from the reviewer. The callable of `on_verdict` receives that text.
/// \throws        error{exec_errc::cancelled} if the run is cancelled during the review. A failure of the model is a
///                refusal, not an exception.
/// \par Cost      two requests to the model; none if the code is cached.
/// \par Source    kodeagent's review, hardened.
class llm_review : public pipeable {
 public:
  /// Makes a guard that sends code to `model` for a review.
  template <class M>
    requires chat_model<M>
  explicit llm_review(M model) : model_(detail::as_any_model(std::move(model))) {}

  /// Sets the language of the code, which the reviewer is given. Default: "python". Only Python code gets the second
  /// request without comments and texts.
  llm_review& language(std::string name);
  /// Sets a description of the environment and of the code's permissions in it, for the reviewer:
  /// `{"provider": "docker", "network": false, "allowed_hosts": [], "allowed_tools": ["save_chart"], "workspace":
  /// "/workspace"}`. It must not contain secrets, because it is sent to the model. Default: an empty object.
  llm_review& context(boost::json::object about);
  /// Sets the time limit for one answer of the model. More than zero. Default: 30 seconds.
  llm_review& timeout(std::chrono::milliseconds limit);
  /// Allows code with the risk "medium" too. Default: at most the risk "low".
  llm_review& allow_medium_risk();
  /// Sends only one request: the code with its comments and texts. Default: Python code is sent a second time without
  /// them.
  llm_review& without_second_look();
  /// Sets a callable that receives every verdict, for example to log it. It must not throw. g++ 12 does not compile a
  /// temporary lambda that captures by value: give the lambda a name first.
  llm_review& on_verdict(detail::callable_argument<void(const review_verdict& verdict)> listener);

  /// Wraps a runner. The runners of one recipe and of its copies share the cache, so all of them must use the same
  /// executor.
  template <code_runner Inner>
  llm_review_layer<Inner> attach(Inner inner) const {
    return llm_review_layer<Inner>(std::move(inner), reviewer_);
  }

 private:
  /// Replaces the reviewer by one with changed settings. Defined for `impl/llm_review.ipp` only.
  template <class Change>
  llm_review& with(Change change);

  any_chat_model model_;
  std::shared_ptr<detail::reviewer> reviewer_ = detail::make_reviewer(model_);
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/llm_review.ipp>
#endif
