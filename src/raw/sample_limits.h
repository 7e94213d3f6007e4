#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/recording.h"

// The limits of samples (messages.h), for their writer, which makes every sample fit, and their
// reader, which leaves out those that do not.

namespace gosym::raw {

// True of a word that lies where one can, and is a number only if it can be one.
bool is_possible(const StackWord& word);

// kNoFrame, or a place that a frame pointer can lead to.
bool is_frame_offset(uint64_t offset);

// True of a list that is in order, each in a place where it can be.
bool are_sound(std::span<const StackSwitch> switches);

// Tells of a sample that it had more than the format holds.
struct Shortened {
  bool stack = false;  // it, or the words that are left of it
  bool texts = false;  // labels, the state, the waker
};

// Makes samples fit. Of a stack that is too deep both ends are kept, with the number of frames
// that are missing in between; texts are cut, with "..." at their ends; of too many labels the
// first are kept. Switches of stacks are left out where the stack is cut. All else of a sample
// stays as it is.
class SampleFitter {
public:
  // The sample's spans may refer to the fitter afterwards, until its next call.
  Shortened fit(RecordedSample& sample);

private:
  // True: something of them was left out or cut.
  bool fit_stacks(RecordedSample& sample);
  bool fit_words(RecordedSample& sample);
  bool fit_labels(RecordedSample& sample);

  std::vector<uint64_t> stack_;
  std::vector<StackWord> words_;
  std::vector<Label> labels_;
  std::string state_;
  std::string waker_;
};

}  // namespace gosym::raw
