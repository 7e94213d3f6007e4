// Runs the files below each folder given through the fuzz target, without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// Of exactly the file's size, so that a sanitizer sees a read past the end.
std::vector<uint8_t> read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<uint8_t> data{std::istreambuf_iterator<char>(in), {}};
  data.shrink_to_fit();
  return data;
}

std::vector<std::filesystem::path> files_below(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; i++) {
    for (const auto& path : files_below(argv[i])) {
      std::puts(path.c_str());  // the last line names the input that crashed
      std::fflush(stdout);
      auto data = read(path);
      LLVMFuzzerTestOneInput(data.data(), data.size());
      count++;
    }
  }
  std::printf("%zu inputs\n", count);
  return count == 0;  // a corpus that is not found proves nothing
}
