#include "raw/messages.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/protobuf_fields.h"

// Two layers of a cpu.raw file. Payloads: Fields lists the fields of each message once, and
// both directions go through that list. Chunks: a walk that believes a header only if its
// checksum is right, and a payload only if its own is, so that damage costs the chunks that it
// hit.

namespace gosym::raw {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

struct Contents {
  std::string bytes;
};

struct End {
  uint64_t time = 0;
};

// Either<T> is T for decoding and const T for encoding. A number is never used again for
// another field: files of older versions would be misread.
// The numbers are those of raw.proto.
struct Fields {
  static void visit(auto& field, Either<RecordedEvent> auto& event) {
    field(1, event.name);
    field(2, event.frequency);
    field(3, event.period);
    field(4, event.unit);
  }

  static void visit(auto& field, Either<RecordingInfo> auto& info) {
    field(1, info.gosym_version);
    field(2, info.host);
    field(3, info.kernel_release);
    field(4, info.machine);
    field(5, info.command_line);
    field(6, info.events);
    field(7, info.cpu_count);
    field(8, info.has_user);
    field(9, info.has_kernel);
    field(10, info.is_system_wide);
    field(11, info.targets);
    field(12, info.sampler);
    field(13, info.machine_id);
  }

  static void visit(auto& field, Either<LoadSegment> auto& segment) {
    field(1, segment.file_offset);
    field(2, segment.file_size);
    field(3, segment.address);
    field(4, segment.memory_size);
    field(5, segment.flags);
  }

  static void visit(auto& field, Either<RecordedImage> auto& image) {
    field(1, image.id);
    field(2, image.path);
    field(3, image.device);
    field(4, image.inode);
    field(5, image.size);
    field(6, image.mtime_ns);
    field(7, image.is_deleted);
    field(8, image.gnu_build_id);
    field(9, image.go_build_id);
    field(10, image.segments);
    field(11, image.problem);
  }

  static void visit(auto& field, Either<MapEvent> auto& event) {
    field(1, event.time);
    field(2, event.pid);
    field(3, event.start);
    field(4, event.length);
    field(5, event.file_offset);
    field(6, event.image);
    field(7, event.path);
  }

  static void visit(auto& field, Either<CommEvent> auto& event) {
    field(1, event.time);
    field(2, event.pid);
    field(3, event.tid);
    field(4, event.comm);
    field(5, event.is_exec);
  }

  static void visit(auto& field, Either<ForkEvent> auto& event) {
    field(1, event.time);
    field(2, event.pid);
    field(3, event.tid);
    field(4, event.parent_pid);
    field(5, event.parent_tid);
  }

  static void visit(auto& field, Either<ExitEvent> auto& event) {
    field(1, event.time);
    field(2, event.pid);
    field(3, event.tid);
  }

  static void visit(auto& field, Either<KernelCodeEvent> auto& event) {
    field(1, event.time);
    field(2, event.address);
    field(3, event.length);
    field(4, event.name);
    field(5, event.is_removed);
  }

  static void visit(auto& field, Either<CgroupEvent> auto& event) {
    field(1, event.time);
    field(2, event.id);
    field(3, event.path);
  }

  static void visit(auto& field, Either<PerfMapMark> auto& mark) {
    field(1, mark.time);
    field(2, mark.size);
  }

  static void visit(auto& field, Either<RecordedPerfMap> auto& map) {
    field(1, map.time);
    field(2, map.pid);
    field(3, map.path);
    field(4, map.text);
    field(5, map.problem);
    field(6, map.marks);
  }

  static void visit(auto& field, Either<ImagePiece> auto& piece) {
    field(1, piece.image);
    field(2, piece.offset);
    field(3, piece.bytes);
    field(4, piece.total);
    field(5, piece.problem);
    field(6, piece.stored_as);
  }

  static void visit(auto& field, Either<Contents> auto& contents) { field(1, contents.bytes); }

  static void visit(auto& field, Either<CpuCounts> auto& counts) {
    field(1, counts.cpu);
    field(2, counts.samples);
    field(3, counts.lost_samples);
    field(4, counts.lost_events);
    field(5, counts.throttled_ns);
    field(6, counts.skipped);
    field(7, counts.lost_ns);
    field(8, counts.event);
  }

  static void visit(auto& field, Either<RecordingStats> auto& stats) {
    field(1, stats.time);
    field(2, stats.samples);
    field(3, stats.lost_samples);
    field(4, stats.lost_events);
    field(5, stats.cpus);
    field(6, stats.charged_ns);
  }

  static void visit(auto& field, Either<End> auto& end) { field(1, end.time); }
};

template <class T>
Event read_event(pbf_reader& in) {
  T event;
  read_message<Fields>(in.get_message(), event);
  return event;
}

// The wire type is part of the tag: a known number with another type is skipped as unknown.
constexpr uint32_t message_tag(uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::length_delimited);
}

// Texts that no kernel writes are cut here, where events come in: all later code may believe
// in the limit.
Event shortened(Event event) {
  std::string& comm = std::get<CommEvent>(event).comm;
  comm.resize(std::min(comm.size(), kMaxComm));
  return event;
}

void read_events(pbf_reader in, const TakeEvent& take) {
  bool goes_on = true;
  while (goes_on && in.next()) {
    switch (in.tag_and_type()) {
      case message_tag(1):
        goes_on = take(read_event<MapEvent>(in));
        break;
      case message_tag(2):
        goes_on = take(shortened(read_event<CommEvent>(in)));
        break;
      case message_tag(3):
        goes_on = take(read_event<ForkEvent>(in));
        break;
      case message_tag(4):
        goes_on = take(read_event<ExitEvent>(in));
        break;
      case message_tag(5):
        goes_on = take(read_event<KernelCodeEvent>(in));
        break;
      case message_tag(6):
        goes_on = take(read_event<CgroupEvent>(in));
        break;
      default:
        // An event of a later minor version.
        in.skip();
    }
  }
}

}  // namespace

std::string encode(const RecordingInfo& info) {
  return encode_message<Fields>(info);
}

std::string encode(const RecordedImage& image) {
  return encode_message<Fields>(image);
}

std::string encode(const RecordedPerfMap& map) {
  return encode_message<Fields>(map);
}

std::string encode(const ImagePiece& piece) {
  return encode_message<Fields>(piece);
}

std::string encode(const RecordingStats& stats) {
  return encode_message<Fields>(stats);
}

std::string encode_contents(std::string_view contents) {
  return encode_message<Fields>(Contents{std::string(contents)});
}

std::string encode_end(uint64_t time) {
  return encode_message<Fields>(End{time});
}

void append(const Event& event, std::string& payload) {
  // Field 1 is the first alternative of Event, and so on.
  auto number = static_cast<uint32_t>(event.index() + 1);
  std::string message =
      std::visit([](const auto& e) { return encode_message<Fields>(e); }, event);
  pbf_writer(payload).add_message(number, message);
}

Result<RecordingInfo> decode_info(Bytes payload) {
  RecordingInfo info;
  // Absent fields keep the values that the structure has by default; for these two an absent
  // field means false, as protobuf has it.
  info.has_user = info.has_kernel = false;  // unless the message says it
  info.events.clear();
  auto decoded = decode_message<Fields>(payload, std::move(info));
  if (decoded && decoded->events.size() > kMaxEvents)
    return errorf("{} events, where {} are allowed", decoded->events.size(), kMaxEvents);
  // Recordings made before several events could be counted name none: they have one.
  if (decoded && decoded->events.empty())
    decoded->events.emplace_back();
  if (decoded)
    // The measure is not in the file: it follows from the name, the period and the unit.
    for (RecordedEvent& event : decoded->events)
      event.measure = measure_of(event.name, event.period, event.unit);
  return decoded;
}

Result<RecordedImage> decode_image(Bytes payload) {
  return decode_message<Fields, RecordedImage>(payload);
}

Result<RecordedPerfMap> decode_perf_map(Bytes payload) {
  return decode_message<Fields, RecordedPerfMap>(payload);
}

Result<ImagePiece> decode_piece(Bytes payload) {
  return decode_message<Fields, ImagePiece>(payload);
}

Result<RecordingStats> decode_stats(Bytes payload) {
  return decode_message<Fields, RecordingStats>(payload);
}

Result<std::string> decode_contents(Bytes payload) {
  auto contents = decode_message<Fields, Contents>(payload);
  if (!contents)
    return std::move(contents).error();
  return std::move(contents->bytes);
}

Result<uint64_t> decode_end(Bytes payload) {
  auto end = decode_message<Fields, End>(payload);
  if (!end)
    return std::move(end).error();
  return end->time;
}

Result<> decode_events(Bytes payload, const TakeEvent& take) {
  return read_protobuf(payload, [&](pbf_reader in) { read_events(in, take); });
}

Result<std::vector<Event>> decode_events(Bytes payload) {
  std::vector<Event> events;
  auto done = decode_events(payload, [&](Event event) {
    events.push_back(std::move(event));
    return true;
  });
  if (!done)
    return std::move(done).error();
  return events;
}

bool is_known(ChunkType type) {
  using enum ChunkType;
  return type == kInfo || type == kImage || type == kEvents || type == kSamples ||
         type == kKernelSymbols || type == kPerfMap || type == kStats ||
         type == kImageContents || type == kEnd || type == kVdso;
}

uint32_t max_payload_size(ChunkType type) {
  bool is_small =
      is_known(type) && type != ChunkType::kKernelSymbols && type != ChunkType::kPerfMap;
  return is_small ? kMaxSmallPayloadSize : kMaxPayloadSize;
}

uint32_t checksum(Bytes data) {
  return XXH32(data.data(), data.size(), 0);
}

uint32_t checksum(const FileHeader& header) {
  return XXH32(&header, offsetof(FileHeader, checksum), 0);
}

uint32_t checksum(const ChunkHeader& header) {
  return XXH32(&header, offsetof(ChunkHeader, header_checksum), 0);
}

namespace {

bool is_sound_header(const ChunkHeader& header) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kChunkMagic ||
      header.header_checksum != checksum(header))
    return false;
  // A later type may be as large as the largest of today; the size of a known one is held down
  // to what it needs.
  if (header.raw_size > max_payload_size(header.type))
    return false;
  // A compressed payload is smaller than it was, or the writer would have stored it plain: a
  // header that says otherwise was not written by one.
  if (header.flags == kZstdFlag)
    return header.stored_size < header.raw_size;
  return header.flags == 0 && header.stored_size == header.raw_size;
}

}  // namespace

// The bytes of the range that the file has; valid until the next call.
Bytes Chunks::part(uint64_t offset, uint64_t size) {
  constexpr uint64_t kStep = 1 << 20;
  size = std::min(size, file_.size() - std::min(offset, file_.size()));
  bool is_there = offset >= buffer_begin_ && offset - buffer_begin_ <= buffer_.size() &&
                  size <= buffer_.size() - (offset - buffer_begin_);
  // A step at a time from the file: headers of small chunks and their payloads mostly lie in
  // the part that was read last.
  if (!is_there) {
    buffer_begin_ = offset;
    buffer_.resize(std::max(size, kStep));
    buffer_.resize(file_.read(offset, buffer_));
  }
  uint64_t begin = offset - buffer_begin_;
  return as_bytes(buffer_).subspan(begin, std::min(size, buffer_.size() - begin));
}

std::optional<ChunkHeader> Chunks::header_at(uint64_t offset) {
  Bytes raw = part(offset, sizeof(ChunkHeader));
  ChunkHeader header;
  if (raw.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, raw.data(), sizeof header);
  if (!is_sound_header(header))
    return std::nullopt;
  uint64_t size = padded(sizeof header + uint64_t{header.stored_size});
  // A sound header whose payload the file does not have: the recorder was cut off here, or is
  // still writing.
  if (file_.size() - offset >= size)
    return header;
  end_of_cut_chunk_ = std::max(end_of_cut_chunk_, offset + size);
  return std::nullopt;
}

std::optional<Chunk> Chunks::next() {
  while (offset_ < file_.size()) {
    // Without a sound header nothing tells how long the chunk is: the next one may begin at any
    // byte, and is known by its magic and its checksum.
    auto header = header_at(offset_);
    if (!header) {
      skip_to_magic();
      continue;
    }
    uint64_t begin = offset_ + sizeof *header;
    uint64_t size = padded(sizeof *header + uint64_t{header->stored_size});
    // The header is believed from here on: a payload that is damaged costs one chunk.
    offset_ += size;
    Bytes stored = part(begin, header->stored_size);
    if (stored.size() == header->stored_size && checksum(stored) == header->payload_checksum)
      return Chunk{.type = header->type,
                   .is_compressed = header->flags == kZstdFlag,
                   .raw_size = header->raw_size,
                   .sequence = header->sequence,
                   .offset = begin,
                   .end = offset_,
                   .stored = stored};
    // A second recording may begin within what is damaged, if the first one was cut off there.
    damaged_bytes_ += size;
    look_for_recording(offset_ - size, offset_);
  }
  return std::nullopt;
}

void Chunks::look_for_recording(uint64_t begin, uint64_t end) {
  constexpr uint64_t kStep = 64 << 10;
  while (begin < end && other_recording_ == 0) {
    // The pieces overlap by the length of the magic, which may lie across their border.
    std::string_view text =
        as_text(part(begin, std::min(end - begin, kStep) + kMagic.size() - 1));
    size_t found = text.find(kMagic);
    if (found == text.npos) {
      begin += kStep;
      continue;
    }
    begin += found;
    Bytes raw = part(begin, sizeof(FileHeader));
    FileHeader header;
    // The magic alone may be part of any payload; with the checksum it is a header.
    if (raw.size() == sizeof header) {
      std::memcpy(&header, raw.data(), sizeof header);
      if (header.checksum == checksum(header))
        other_recording_ = begin;
    }
    begin++;
  }
}

// Goes to the next magic after this place, or to the end of the file. Each byte is passed once,
// whatever the headers found say.
void Chunks::skip_to_magic() {
  constexpr uint64_t kStep = 64 << 10;
  uint64_t from = offset_;
  do {
    std::string_view text = as_text(part(offset_ + 1, kStep));
    size_t found = text.find(kChunkMagic);
    if (found != text.npos) {
      offset_ += 1 + found;
      break;
    }
    // A magic may begin in the last bytes.
    offset_ += text.size() < kStep ? file_.size() - offset_ : kStep - kChunkMagic.size();
  } while (offset_ < file_.size());
  damaged_bytes_ += offset_ - from;
  look_for_recording(from, offset_);
}

Result<std::string> unpack(Bytes stored, uint32_t raw_size, bool is_compressed) {
  if (!is_compressed)
    return std::string(as_text(stored));
  // The frame says its size as well. Both are compared before anything is allocated by them; an
  // error of the frame is a size that no payload has.
  if (raw_size > kMaxPayloadSize ||
      ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size)
    return Error("compressed payload of another size");
  std::string payload(raw_size, '\0');
  size_t size = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(size))
    return errorf("cannot decompress the payload: {}", ZSTD_getErrorName(size));
  if (size != raw_size)
    return errorf("compressed payload of {} bytes, not {}", size, raw_size);
  return payload;
}

}  // namespace gosym::raw
