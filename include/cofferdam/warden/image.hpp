// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/os/machine.hpp>
#include <cofferdam/warden/detail/image_aarch64.hpp>
#include <cofferdam/warden/detail/image_x86_64.hpp>

#include <span>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// The program of a warden: the helper program that runs in each sandbox and starts the commands there.
class warden_image {
 public:
  /// Describes a program by its bytes and their SHA-256 in hexadecimal digits.
  constexpr warden_image(std::span<const unsigned char> program, std::string_view sha256)
      : program_(program), sha256_(sha256) {}
  /// Returns the bytes of the program, a statically linked ELF file; empty if there is no warden for the machine.
  constexpr std::span<const unsigned char> program() const noexcept { return program_; }
  /// Returns the SHA-256 of the program, in hexadecimal digits.
  constexpr std::string_view sha256() const noexcept { return sha256_; }

 private:
  std::span<const unsigned char> program_;
  std::string_view sha256_;
};

/// Returns the warden for an architecture.
/// \param machine  the name of the architecture for `uname -m`, Docker or Go: "x86_64", "amd64", "aarch64" or "arm64".
///                 For any other name the image is empty.
constexpr warden_image warden_image_for(std::string_view machine) noexcept {
  if (machine == "x86_64" || machine == "amd64") return {detail::wire::image_x86_64, detail::wire::image_x86_64_sha256};
  if (machine == "aarch64" || machine == "arm64")
    return {detail::wire::image_aarch64, detail::wire::image_aarch64_sha256};
  return {{}, {}};
}

/// Returns the warden for the architecture for which this program was compiled.
constexpr warden_image native_warden_image() noexcept {
  // A compile-time constant, so that a program does not contain the images for other architectures.
  constexpr warden_image image = warden_image_for(detail::native_machine());
  return image;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
