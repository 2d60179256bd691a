// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/detail/net/tar_writer.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A builder of a tar archive in memory, for a few small files.
class small_archive {
 public:
  /// Adds an entry.
  /// \param entry  the head of the entry; its size is set to the size of `content`.
  [[nodiscard]] small_archive add(cofferdam::detail::tar_entry entry, bytes_view content = {}) && {
    entry.size(content.size());
    append(writer_.head(entry));
    append(content);
    writer_.data(content.size());
    append(writer_.padding());
    return std::move(*this);
  }
  /// Completes the archive and returns its bytes.
  bytes take() && {
    append(writer_.end());
    return std::move(all_);
  }

 private:
  void append(bytes_view more) { all_.insert(all_.end(), more.begin(), more.end()); }

  cofferdam::detail::tar_writer writer_;
  bytes all_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
