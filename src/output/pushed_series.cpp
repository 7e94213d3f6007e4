#include "output/pushed_series.h"

#include <fmt/core.h>

#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "output/json.h"
#include "output/pprof.h"
#include "output/services.h"
#include "output/write.h"

namespace gosym {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

Labels labels_of_service(const Service& service) {
  // The name that pull-based scrapers give Go's own profile of CPU time.
  Labels labels = {{"__name__", "process_cpu"}, {"service_name", printable(service.name)}};
  if (!service.host.empty())
    labels.emplace_back("host", printable(service.host));
  if (!service.container.empty())
    labels.emplace_back("container_id", service.container);
  if (!service.pod.empty())
    labels.emplace_back("pod_uid", service.pod);
  return labels;
}

std::string pprof_of(const Profile& profile, const std::vector<size_t>& numbers) {
  std::vector<SampleCount> samples;
  samples.reserve(numbers.size());
  for (size_t number : numbers)
    samples.push_back(profile.samples[number]);
  // The whole profile is in memory: a field of protobuf has its length first, and base64()
  // takes all bytes at once.
  return written_by(write_pprof_for_store, profile, samples);
}

// The encoding of RFC 4648.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view part = bytes.substr(i, 3);
    uint32_t bits = 0;
    // Three bytes are 24 bits, most significant first, and 4 digits of 6 bits. The last part
    // may have one or two bytes: bits that are missing are 0, digits without any bit are '='.
    for (size_t k = 0; k < 3; k++)
      bits = bits << 8 | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0);
    for (size_t k = 0; k < 4; k++)
      text += k <= part.size() ? kDigits[bits >> (18 - 6 * k) & 0x3f] : '=';
  }
  return text;
}

// "0b8d3c1e-…": 8, 4, 4, 4 and 12 digits.
std::string uuid_text(std::string_view bytes) {
  std::string digits = hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

// Field numbers of push.proto, and of types.proto.
namespace pyroscope_field {
enum Request { kSeries = 1 };
enum Series { kLabels = 1, kSamples = 2 };
enum Label { kName = 1, kValue = 2 };
enum Sample { kRawProfile = 1, kId = 2 };
}  // namespace pyroscope_field

// One raw series of Parca's WriteRawRequest: a service's labels, and a profile of its samples.
void write_raw_series(JsonWriter& json, const Labels& labels, const std::string& pprof) {
  json.object("labels", [&] {
    json.array("labels", labels, [&](const auto& label) {
      json.object([&] {
        json.field("name", label.first);
        json.field("value", label.second);
      });
    });
  });
  // JSON has no bytes: the mapping of protobuf to JSON gives them as base64.
  json.array("samples", std::span(&pprof, 1), [&](const std::string& profile) {
    json.object([&] { json.field("rawProfile", base64(profile)); });
  });
}

}  // namespace

void write_pyroscope(const Profile& profile, const Write& write) {
  for (const auto& [service, numbers] : samples_by_service(profile)) {
    std::string data;
    {
      // The writers end in the reverse order of their declaration, inner messages first; only
      // then is `data` whole.
      protozero::pbf_writer request(data);
      protozero::pbf_writer series(request, pyroscope_field::kSeries);
      for (const auto& [name, value] : labels_of_service(service)) {
        protozero::pbf_writer label(series, pyroscope_field::kLabels);
        label.add_string(pyroscope_field::kName, name.data(), name.size());
        label.add_string(pyroscope_field::kValue, value);
      }
      protozero::pbf_writer sample(series, pyroscope_field::kSamples);
      sample.add_bytes(pyroscope_field::kRawProfile, pprof_of(profile, numbers));
      sample.add_string(pyroscope_field::kId, uuid_text(profile_id(profile, service, "")));
    }
    // Messages that follow each other are one with the fields of both.
    if (!write(data))
      return;
  }
}

void write_parca(const Profile& profile, const Write& write) {
  JsonWriter json;
  json.object([&] {
    json.array("series", samples_by_service(profile), [&](const auto& entry) {
      json.object([&] {
        write_raw_series(json, labels_of_service(entry.first), pprof_of(profile, entry.second));
      });
      json.flush(write, JsonWriter::kPart);
    });
  });
  json.flush(write);
}

}  // namespace gosym
