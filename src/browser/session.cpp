#include "browser/session.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "browser/draw.h"
#include "browser/terminal.h"
#include "browser/update.h"
#include "profile/filter.h"

namespace gosym::browser {

// Three threads: the session's own draws and takes keys, the worker's two load samples and
// answer queries. Samples and answers pass from one to the other in Worker::Shared, under its
// mutex; an eventfd tells of new ones, which wait() polls with the terminal and the signals.

namespace {

// Keeps what is written to standard error off the screen, and shows it at the end.
class HeldMessages {
public:
  HeldMessages()
      : held_(memfd_create("gosym-messages", MFD_CLOEXEC)), saved_(dup(STDERR_FILENO)) {
    // Text in the buffer was written before this, and goes to the old target.
    std::fflush(stderr);
    if (held_.get() >= 0 && saved_.get() >= 0)
      dup2(held_.get(), STDERR_FILENO);
  }
  // browse() has given the terminal back by now, or the text would be lost with its screen.
  ~HeldMessages() {
    if (held_.get() < 0 || saved_.get() < 0)
      return;
    std::fflush(stderr);
    dup2(saved_.get(), STDERR_FILENO);
    std::string buffer(1 << 16, '\0');
    for (off_t at = 0;;) {
      ssize_t size = pread(held_.get(), buffer.data(), buffer.size(), at);
      if (size <= 0)
        return;
      (void)!write(STDERR_FILENO, buffer.data(), static_cast<size_t>(size));
      at += size;
    }
  }
  HeldMessages(const HeldMessages&) = delete;
  HeldMessages& operator=(const HeldMessages&) = delete;

private:
  UniqueFd held_;
  UniqueFd saved_;
};

// Loads the source in one thread and answers queries in another, so that what is there already
// can be looked at while the rest is read. Both may outlive this: then what they still find is
// for nobody.
class Worker {
public:
  Worker(Source source, Query first) : shared_(std::make_shared<Shared>()) {
    shared_->source = std::move(source);
    shared_->recorded.find_code = shared_->source.find_code;
    shared_->asked = std::move(first);
    shared_->news = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    threads_.emplace_back([shared = shared_] { load_all(*shared); });
    threads_.emplace_back([shared = shared_] { answer_all(*shared); });
  }
  ~Worker() {
    bool is_idle = false;
    bool has_failed = false;
    {
      std::lock_guard lock(shared_->mutex);
      shared_->is_ended = true;
      is_idle = shared_->at_work == 0;
      has_failed = shared_->error.has_value();
    }
    shared_->changed.notify_all();
    // A live source is taken down after this, so its threads are waited for; so they are where
    // loading has failed, which main() has to tell. Others are left to a process that ends.
    is_left_behind = !is_idle && !has_failed && !shared_->source.is_live();
    for (std::thread& thread : threads_) {
      if (is_left_behind)
        thread.detach();
      else
        thread.join();
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Readable when there is something to take; take() makes it unreadable again.
  int fd() const { return shared_->news.get(); }

  // One that ended before its threads did: they are still at work. browse() then ends the
  // process at once, for what they use is destroyed when main() returns.
  static inline bool is_left_behind = false;

  void ask(const Query& query) {
    std::lock_guard lock(shared_->mutex);
    shared_->asked = query;
    shared_->is_wanted = true;
    shared_->changed.notify_all();
  }
  void freeze(bool is_frozen) {
    std::lock_guard lock(shared_->mutex);
    shared_->is_frozen = is_frozen;
    shared_->changed.notify_all();
  }

  // The latest one; null if there is none yet.
  Result<std::shared_ptr<const Answer>> take() {
    uint64_t count = 0;
    (void)!read(shared_->news.get(), &count, sizeof(count));
    std::lock_guard lock(shared_->mutex);
    if (shared_->error)
      return *shared_->error;
    return shared_->latest;
  }

private:
  struct Shared {
    Source source;
    UniqueFd news;
    std::mutex mutex;  // of what follows
    std::condition_variable changed;
    Recorded recorded;      // generation 0: there is nothing yet
    Query asked;            // the last one
    bool is_wanted = true;  // nobody has begun to answer it, of what there is now
    std::shared_ptr<const Answer> latest;
    std::optional<Error> error;
    int at_work = 2;  // threads that do not wait for a change
    bool is_frozen = false;
    bool is_ended = false;
  };

  using Clock = std::chrono::steady_clock;

  static void tell(Shared& shared) {
    uint64_t one = 1;
    (void)!write(shared.news.get(), &one, sizeof(one));
  }

  static void load_all(Shared& shared) {
    // The first samples are shown soon, even if later ones come each minute. A source that is
    // not live has no interval: its parts are loaded one after the other.
    constexpr std::chrono::milliseconds kSoon{500};
    std::chrono::nanoseconds interval(shared.source.interval);
    Clock::time_point due = Clock::now() + std::min<Clock::duration>(interval, kSoon);
    while (wait_to_load(shared, due) && load(shared))
      due = Clock::now() + interval;
    // At its end it is not at work either, and ~Worker() may join it.
    std::lock_guard lock(shared.mutex);
    shared.at_work--;
  }

  // False: this has ended.
  static bool wait_to_load(Shared& shared, Clock::time_point due) {
    std::unique_lock lock(shared.mutex);
    // A thread that waits is not at work: the destructor may join it.
    shared.at_work--;
    while (!shared.is_ended && (shared.is_frozen || Clock::now() < due)) {
      if (shared.is_frozen)
        shared.changed.wait(lock);
      else
        shared.changed.wait_until(lock, due);
    }
    shared.at_work++;
    return !shared.is_ended;
  }

  // Returns true if the source will give more.
  static bool load(Shared& shared) {
    // Without the lock: it takes seconds, while queries about the samples before are answered.
    auto loaded = shared.source.load();
    // Freed behind the lock, for it is declared before it: others need not wait for that.
    Source::Events replaced;
    std::lock_guard lock(shared.mutex);
    if (!loaded) {
      shared.error = std::move(loaded).error();
      tell(shared);
      return false;
    }
    Recorded& recorded = shared.recorded;
    replaced = std::exchange(recorded.events, std::move(loaded->events));
    recorded.is_last = loaded->is_last;
    recorded.share = loaded->share;
    recorded.generation++;
    // The last query is answered again, of the new samples.
    shared.is_wanted = true;
    shared.changed.notify_all();
    return !loaded->is_last;
  }

  struct Question {
    Query query;
    Recorded recorded;
  };

  // None: this has ended.
  static std::optional<Question> wait_for_question(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    // A thread that waits is not at work: ~Worker() may join it.
    shared.at_work--;
    shared.changed.wait(lock, [&] {
      return shared.is_ended || (shared.is_wanted && shared.recorded.generation > 0);
    });
    shared.at_work++;
    if (shared.is_ended)
      return {};
    shared.is_wanted = false;
    Question question{shared.asked, shared.recorded};
    // New samples may have fewer events than the query knew of, and one at the least: see
    // by_event().
    auto events = static_cast<uint32_t>(shared.recorded.events.size());
    question.query.event = std::min(question.query.event, events - 1);
    return question;
  }

  static void answer_all(Shared& shared) {
    uint64_t answered = 0;  // generation
    std::shared_ptr<const Answer> before;
    // The answer that the screen has shown before: freed here, for it may take longer than a
    // key should.
    std::shared_ptr<const Answer> replaced;
    while (auto question = wait_for_question(shared)) {
      // An answer to other samples shares nothing with this one.
      bool is_same = answered == question->recorded.generation;
      replaced.reset();
      replaced = std::exchange(before, answer(question->recorded, question->query,
                                              is_same ? before.get() : nullptr));
      answered = question->recorded.generation;
      std::lock_guard lock(shared.mutex);
      shared.latest = before;
      tell(shared);
    }
    std::lock_guard lock(shared.mutex);
    shared.at_work--;
  }

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

// Set by signals that end the program.
volatile std::sig_atomic_t ending_signal = 0;
int signal_fd = -1;  // readable when it is set

// The handler does nothing but note the signal: run() ends in order, so that the terminal is
// left as it was found.
void catch_signals() {
  struct sigaction action = {};
  signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  action.sa_handler = [](int number) {
    ending_signal = number;
    uint64_t one = 1;
    (void)!write(signal_fd, &one, sizeof(one));
  };
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    sigaction(number, &action, nullptr);
}

// Makes the profile that is exported: with the samples that picks and the chosen time leave,
// and a `filter` that names both. The selection is not named again, as select() has added its
// options to `filter`. recorded_amounts is the amount before all this, for "12 % of all".
Profile shown_profile(const Answer& answer) {
  Profile profile = answer.profile();
  if (answer.selected->total != answer.selected->recorded)
    profile.recorded_amounts = {answer.selected->recorded};
  profile.samples = answer.selected->samples;
  Query picked = answer.query;
  picked.selection = {};
  std::string words = joined(words_of(picked, profile.time_step), ", ");
  if (words.empty())
    return profile;
  profile.filter += (profile.filter.empty() ? "" : " ") + words;
  if (picked.time != Steps())
    narrow_time(
        {picked.time.begin * profile.time_step,
         picked.time.end == UINT32_MAX ? UINT64_MAX : picked.time.end * profile.time_step},
        profile);
  forget_dropped(profile);
  return profile;
}

class Session {
public:
  Session(Source source, const Export& write, const Edit& edit, State state, Terminal terminal)
      : source_(source),
        write_(write),
        edit_(edit),
        state_(std::move(state)),
        terminal_(std::move(terminal)),
        worker_(std::move(source), state_.query),
        asked_(state_.query) {
    state_.is_live = source_.is_live();
  }

  Result<int> run() {
    while (ending_signal == 0) {
      // Reading tells of a new size as well.
      auto key = answer_ && !early_.empty() ? take_early() : terminal_.read();
      if (auto taken = take(); !taken)
        return std::move(taken).error();
      if (!key) {
        show();
        wait();
      } else if (handle(*key)) {
        return kSuccess;
      } else {
        ask();
      }
    }
    constexpr int kSignalled = 128;  // and the signal's number, as shells have it
    return kSignalled + static_cast<int>(ending_signal);
  }

private:
  std::optional<Key> take_early() {
    Key key = early_.front();
    early_.pop_front();
    return key;
  }

  // Takes the latest answer and the terminal's size; an error is that of loading, and final.
  Result<> take() {
    auto taken = worker_.take();
    if (!taken)
      return std::move(taken).error();
    bool is_new = *taken && *taken != answer_;
    if (is_new)
      answer_ = *taken;
    // The answer to the state's query may come later: until then cursors are fitted to what is
    // there.
    if (answer_ && (is_new || state_.size != terminal_.size())) {
      state_.size = terminal_.size();
      settle(state_, *answer_);
    }
    state_.size = terminal_.size();
    return Ok{};
  }

  bool is_old() const { return answer_ && !is_same(answer_->query, state_.query); }

  void show() {
    if (answer_)
      terminal_.show(draw(state_, *answer_, is_old()));
    else
      terminal_.show(draw_waiting(
          state_.size, state_.title,
          fmt::format("{}, {:.0f} s", source_.is_live() ? "sampling" : "reading and naming",
                      to_seconds(monotonic_ns() - begin_))));
  }

  // For a key, an answer or a signal.
  void wait() {
    pollfd fds[] = {
        {STDIN_FILENO, POLLIN, 0}, {worker_.fd(), POLLIN, 0}, {signal_fd, POLLIN, 0}};
    // Without an answer the screen counts seconds (draw_waiting()), so that it is drawn anew.
    constexpr int kProgress = 200;  // ms
    poll(fds, std::size(fds), answer_ ? -1 : kProgress);
    // The terminal is gone.
    if ((fds[0].revents & (POLLHUP | POLLERR)) != 0)
      ending_signal = SIGHUP;
  }

  void ask() {
    if (is_same(asked_, state_.query))
      return;
    asked_ = state_.query;
    worker_.ask(asked_);
    // An answer that comes within this time is shown with the key's effect, in one picture.
    constexpr int kAtOnce = 30;  // ms
    pollfd news = {worker_.fd(), POLLIN, 0};
    poll(&news, 1, kAtOnce);
  }

  // Returns true if the key ends the browser.
  bool handle(const Key& key) {
    // The terminal is raw, so that Ctrl-C is a key and no signal. In a prompt q is a letter,
    // but before there is an answer there is none.
    constexpr char32_t kInterrupt = 3;
    if (is_character(key, kInterrupt) || (!answer_ && is_character(key, 'q')))
      return true;
    if (!answer_) {
      constexpr size_t kMost = 100;
      // Keys typed before there is anything to look at are kept, up to as many as a person may
      // type.
      if (early_.size() < kMost)
        early_.push_back(key);
      return false;
    }
    bool was_frozen = state_.is_frozen;
    Effect effect = update(state_, key, *answer_);
    // The worker loads no new samples; the recorder goes on.
    if (was_frozen != state_.is_frozen)
      worker_.freeze(state_.is_frozen);
    switch (effect.kind) {
      case Effect::Kind::kNone:
        break;
      case Effect::Kind::kQuit:
        return true;
      case Effect::Kind::kCopy:
        terminal_.copy(effect.text);
        state_.message = "copied: " + effect.text;
        break;
      case Effect::Kind::kExport:
        // The export has what the screen will show, not what it shows.
        wait_for_answer();
        tell_written(write_(shown_profile(*answer_), effect.text));
        break;
      // Keys of these two are there in live sessions only, whose source has both functions.
      case Effect::Kind::kSave:
        tell_written(source_.save());
        if (state_.is_frozen)
          state_.message += ": what is kept now, which is more than is frozen";
        break;
      case Effect::Kind::kReset:
        source_.reset();
        state_.message = "what was sampled up to now is forgotten";
        break;
      case Effect::Kind::kEdit:
        edit(effect);
        break;
    }
    return false;
  }

  // Waits for the answer to the last query, so that an export has what was chosen before it was
  // asked for. After kMost, or on a signal, what is shown is exported, and its filter says
  // which that is.
  void wait_for_answer() {
    constexpr uint64_t kMost = 10'000'000'000;  // ns
    constexpr int kStep = 200;                  // ms
    uint64_t end = monotonic_ns() + kMost;
    while (is_old() && ending_signal == 0 && monotonic_ns() < end) {
      pollfd fds[] = {{worker_.fd(), POLLIN, 0}, {signal_fd, POLLIN, 0}};
      poll(fds, std::size(fds), kStep);
      // run() meets the same error next, and ends with it.
      if (!take())
        return;
    }
  }

  void edit(const Effect& effect) {
    // Ctrl-C is for the editor.
    auto on_interrupt = std::signal(SIGINT, SIG_IGN);
    auto on_quit = std::signal(SIGQUIT, SIG_IGN);
    terminal_.leave();
    auto edited = edit_(effect.text, effect.line);
    terminal_.come_back();
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGQUIT, on_quit);
    if (!edited)
      state_.message = edited.error().message();
  }

  void tell_written(const Result<std::string>& name) {
    state_.message = name ? "wrote " + *name : name.error().message();
  }

  Source source_;
  const Export& write_;
  const Edit& edit_;
  State state_;
  Terminal terminal_;
  Worker worker_;
  Query asked_;
  std::deque<Key> early_;  // that came before there was anything to look at
  uint64_t begin_ = monotonic_ns();
  std::shared_ptr<const Answer> answer_;
};

}  // namespace

Result<int> browse(Source source, const Export& write, const Edit& edit, State state,
                   bool has_colour) {
  auto terminal = Terminal::open(has_colour);
  if (!terminal)
    return std::move(terminal).error();
  catch_signals();
  Result<int> status = kSuccess;
  {
    HeldMessages messages;
    status =
        Session(std::move(source), write, edit, std::move(state), *std::move(terminal)).run();
  }
  // Nobody waits for what a quitter has no use for, and it must not see the program taken down
  // around it.
  if (Worker::is_left_behind && status) {
    std::fflush(stdout);
    _exit(*status);
  }
  return status;
}

}  // namespace gosym::browser
