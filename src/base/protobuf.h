#pragma once

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/bytes.h"
#include "base/result.h"

namespace gosym {

// Runs `read` over a protobuf message. protozero throws on malformed input, and asserts that a
// field is read by its own wire type: so compare tag_and_type(), not tag(). Here, and nowhere
// else, what it throws becomes an Error.
template <class Read>
Result<> read_protobuf(Bytes payload, Read read) {
  std::string_view text = as_text(payload);
  try {
    read(protozero::pbf_reader(text.data(), text.size()));
  } catch (const protozero::exception& problem) {
    return errorf("malformed protobuf: {}", problem.what());
  }
  return Ok{};
}

}  // namespace gosym
