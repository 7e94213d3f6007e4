#pragma once

// Field numbers of github.com/google/pprof, proto/profile.proto, for its writer and its reader.

namespace gosym::pprof_field {

enum Profile {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum ValueType { kType = 1, kUnit = 2 };
enum Sample { kSampleLocations = 1, kValues = 2, kLabel = 3 };
enum Label { kKey = 1, kText = 2, kNumber = 3 };
enum Mapping {
  kMappingId = 1,
  kStart = 2,
  kLimit = 3,
  kOffset = 4,
  kFile = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum Location { kLocationId = 1, kLocationMapping = 2, kAddress = 3, kLine = 4 };
enum Line { kLineFunction = 1, kLineNumber = 2 };
enum Function { kFunctionId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5 };

}  // namespace gosym::pprof_field
