#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/recording.h"

// The payloads of all chunks but those of samples, as raw.proto specifies them.

namespace gosym::raw {

std::string encode(const RecordingInfo& info);
std::string encode(const RecordedImage& image);
std::string encode(const RecordedPerfMap& map);
std::string encode(const ImagePiece& piece);
std::string encode(const RecordingStats& stats);
std::string encode_contents(std::string_view contents);  // of a file that is kept as it is
std::string encode_end(uint64_t time);
// Any number of events make one payload.
void append(const Event& event, std::string& payload);

// Whole or not at all: an error if the payload is malformed.
Result<RecordingInfo> decode_info(Bytes payload);
Result<RecordedImage> decode_image(Bytes payload);
Result<RecordedPerfMap> decode_perf_map(Bytes payload);
Result<ImagePiece> decode_piece(Bytes payload);
Result<RecordingStats> decode_stats(Bytes payload);
Result<std::string> decode_contents(Bytes payload);
Result<uint64_t> decode_end(Bytes payload);
Result<std::vector<Event>> decode_events(Bytes payload);
// One by one, until false is given; of a malformed payload those before the fault as well.
using TakeEvent = std::function<bool(Event)>;
Result<> decode_events(Bytes payload, const TakeEvent& take);

}  // namespace gosym::raw
