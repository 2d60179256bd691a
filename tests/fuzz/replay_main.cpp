// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs a fuzz target without libFuzzer: on the corpus, and then on pseudo-random variations of it. The sequence of
// inputs is always the same, with each compiler. COFFERDAM_FUZZ_RUNS sets the number of inputs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::string_view fragments[] = {"'",
                                          "\"",
                                          "\\",
                                          "$",
                                          "`",
                                          "$(",
                                          ")",
                                          "{",
                                          "}",
                                          ";",
                                          "&&",
                                          "||",
                                          "|",
                                          "<<EOF\n",
                                          ">",
                                          "#",
                                          "\n",
                                          "\r",
                                          "\t",
                                          " ",
                                          "~",
                                          "*",
                                          "?",
                                          "[a-z]",
                                          "!",
                                          "=",
                                          "a",
                                          "-rf",
                                          "it",
                                          "--",
                                          "$'x",
                                          "../",
                                          "/",
                                          "=1",
                                          "echo",
                                          "\x1b[31m",
                                          "\xf0\x9f\x98\x80",
                                          "\xed\xa0\x80",
                                          "\xc0\x80",
                                          "\xff"};

void mutate(std::string& text, std::mt19937& random) {
  const std::size_t at = text.empty() ? 0 : random() % (text.size() + 1);
  switch (random() % 6) {
    case 0: text.insert(at, fragments[random() % std::size(fragments)]); break;
    case 1: text.insert(at, 1, static_cast<char>(random() % 256)); break;
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << (random() % 8)));
      break;
    case 3: text.erase(at, 1 + random() % 4); break;
    case 4: text += text.substr(at, random() % 64); break;
    default: text.resize(at); break;
  }
}

void feed(const std::string& text) {
  // Copies the input to a heap block of exactly its size, so that a sanitizer detects a read past its end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main() {
  std::size_t runs = 20'000;
  if (const char* runs_text = std::getenv("COFFERDAM_FUZZ_RUNS")) runs = std::strtoull(runs_text, nullptr, 10);

  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(COFFERDAM_FUZZ_CORPUS))
    for (const auto& entry : std::filesystem::directory_iterator(COFFERDAM_FUZZ_CORPUS)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus{""};
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  for (const auto& text : corpus) feed(text);

  std::mt19937 random(20260101);  // a fixed seed, so that a failure can be reproduced
  std::string text;
  for (std::size_t i = 0; i < runs; ++i) {
    if (i % 64 == 0 || text.size() > 4096) text = corpus[random() % corpus.size()];
    mutate(text, random);
    feed(text);
  }
  std::printf("%s: %zu inputs from a corpus of %zu\n1 passed, 0 failed, 0 skipped\n", COFFERDAM_FUZZ_NAME, runs,
              corpus.size());
  return 0;
}
