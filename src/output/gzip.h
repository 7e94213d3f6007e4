#pragma once

#include <zlib.h>

#include <string>

#include "output/write.h"

namespace gosym {

// A gzip file without name and time, made as its contents come.
class GzipStream {
public:
  explicit GzipStream(Write out);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  bool write(std::string_view data);
  void finish();

private:
  bool deflate_all(std::string_view data, int flush);

  Write out_;
  std::string buffer_;
  z_stream stream_{};
};

}  // namespace gosym
