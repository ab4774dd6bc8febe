// Two threads that share loops of a microsecond and more, too short to be handed over by a lock.
//
// The second thread waits by turning, for as long as the object lives. How long the way to it takes
// is measured first, from a fifth of a microsecond to one, as the processors lie; shorter loops are
// not shared. A loop is cut into two parts, and whoever is free takes the second: where the other
// thread has not begun, as when another program has its processor, the caller does both, and nobody
// waits for a thread that does not run. One that is interrupted in the middle of its part has to be
// waited for. Where that takes too much of the time, or where many loops go by without it, the
// second thread leaves: the machine has no processor to spare. The next one comes after a pause,
// which is longer each time. What is computed is the same either way.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>
#include <type_traits>

namespace shortlist {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  asm volatile("yield");
#endif
}

class Duo {
 public:
  // For loops over up to `n` rows; one thread alone unless a second is `wanted` and worth it.
  Duo(bool wanted, std::size_t n)
      : wanted_(wanted && n >= kRows && (pause_.count() == 0 || Clock::now() >= alone_)) {}
  ~Duo() {
    if (!second_.joinable()) return;
    posted_.store(kEnd, std::memory_order_release);
    // Where it has never come, and there was time, it has no processor.
    if (state_ == State::called && Clock::now() - began_ > kStart)
      left_.store(true, std::memory_order_relaxed);
    second_.join();
    if (left_.load(std::memory_order_relaxed)) {
      pause_ = std::min(std::max(2 * pause_, Clock::duration(kShortest)),
                        Clock::duration(kLongest));
      alone_ = Clock::now() + pause_;
    } else if (count_ > kLoops) {
      pause_ = Clock::duration(0);
    }
  }
  Duo(const Duo&) = delete;
  Duo& operator=(const Duo&) = delete;

  // Whether the next loop is shared, over so many rows. The second thread is called once some loops
  // have gone by, for there may be few, and nobody waits for it to come.
  bool shares(std::size_t n) {
    if (!wanted_) return false;
    if (state_ != State::met && ++asked_ >= next_) {
      next_ = asked_ + kAgain;
      if (state_ == State::alone) {
        call();
      } else if (here_.load(std::memory_order_acquire)) {
        meet();
      }
    }
    return n >= least_ && !left_.load(std::memory_order_relaxed);
  }

  // part(0) and part(1), in any order or both at a time: neither may throw, or write what the other
  // reads. Of `brief` ones, of a few microseconds each, it is known when one takes too long.
  template <typename Part>
  void both(Part&& part, bool brief = true) {
    const std::uint64_t now = post(part);
    part(0);
    if (takes(now)) {
      part(1);
    } else if (!waited_for(now, brief)) {
      leave();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { alone, called, met };
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kRows = 2048;
  static constexpr int kCalled = 200, kAgain = 200, kTries = 4;
  static constexpr std::chrono::milliseconds kStart{5};
  static constexpr double kRowsForIt = 7.0;       // per nanosecond on the way: twice what it costs
  static constexpr double kSlow = 1e5;            // nanoseconds
  static constexpr int kTurns = 2000;             // before the clock is read, tens of microseconds
  static constexpr std::uint64_t kLoops = 1024;   // after which it is asked how many were seen
  static constexpr double kSeen = 0.75;
  static constexpr int kIdle = 20000;                     // turns without a loop
  static constexpr std::chrono::microseconds kNap{200};
  static constexpr std::chrono::microseconds kLost{500};  // of waiting, and one part in
  static constexpr int kShare = 20;                       // so many of the time
  static constexpr std::chrono::milliseconds kShortest{50}, kLongest{5000};

  void call() {
    began_ = Clock::now();
    try {
      second_ = std::thread([this] { work(); });
      state_ = State::called;
    } catch (const std::system_error&) {
      // The system has no thread to give.
    }
  }

  void meet() {
    began_ = Clock::now();
    const double way = both_ways();
    if (way < kSlow) {
      state_ = State::met;
      least_ = std::max(kRows, static_cast<std::size_t>(kRowsForIt * way));
    } else if (++tries_ == kTries) {
      state_ = State::met;
      leave();
    }
  }

  template <typename Part>
  std::uint64_t post(Part& part) {
    call_ = [](void* what) { (*static_cast<Part*>(what))(1); };
    what_ = const_cast<void*>(static_cast<const void*>(&part));
    posted_.store(++count_, std::memory_order_release);
    return count_;
  }

  bool takes(std::uint64_t now) {
    std::uint64_t before = now - 1;
    return taken_.compare_exchange_strong(before, now, std::memory_order_acq_rel);
  }

  void leave() {
    left_.store(true, std::memory_order_relaxed);
    posted_.store(kEnd, std::memory_order_release);
  }

  // Nanoseconds from here to the other thread and back; kSlow where it does not come in time.
  double both_ways() {
    constexpr int kTimes = 8;
    const auto nothing = [](int) {};
    double least = kSlow;
    for (int round = 0; round < 4; ++round) {
      const auto start = Clock::now();
      for (int k = 0; k < kTimes; ++k) {
        const std::uint64_t now = post(nothing);
        for (int turns = 1; done_.load(std::memory_order_acquire) != now; ++turns) {
          relax();
          if (turns % 64 != 0 || Clock::now() - began_ < kNap) continue;
          if (takes(now)) return kSlow;
          while (done_.load(std::memory_order_acquire) != now) std::this_thread::yield();
        }
      }
      const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
      least = std::min(least, spent.count() / kTimes);
    }
    return least;
  }

  // Waits for the other thread; false where that has cost too much by now.
  bool waited_for(std::uint64_t now, bool brief) {
    for (int turns = 0; turns < kTurns; ++turns) {
      if (done_.load(std::memory_order_acquire) == now) return true;
      relax();
    }
    const auto start = Clock::now();
    while (done_.load(std::memory_order_acquire) != now) std::this_thread::yield();
    const auto end = Clock::now();
    if (brief) lost_ += end - start;
    return lost_ < kLost + (end - began_) / kShare;
  }

  // Windows sleeps for milliseconds at least, for which the other thread would have to wait.
  static void nap() {
#if defined(_WIN32)
    std::this_thread::yield();
#else
    std::this_thread::sleep_for(kNap);
#endif
  }

  void work() {
    // A thread may begin on the processor of the one that made it; after a nap it finds a free one.
    nap();
    here_.store(true, std::memory_order_release);
    std::uint64_t last = 0, first = 0, seen = 0;
    int idle = 0;
    while (true) {
      const std::uint64_t now = posted_.load(std::memory_order_acquire);
      if (now == last) {
        relax();
        if (++idle < kIdle) continue;
        nap();
        idle = 0;
        continue;
      }
      idle = 0;
      if (now == kEnd) return;
      if (last == 0) first = now;
      last = now;
      ++seen;
      if (takes(now)) {
        call_(what_);
        done_.store(now, std::memory_order_release);
      }
      if (now - first < kLoops) continue;
      if (static_cast<double>(seen) < kSeen * static_cast<double>(now - first)) break;
      first = now, seen = 0;
    }
    left_.store(true, std::memory_order_relaxed);
  }

  // Of the calling thread: how long it was to work alone, and until when.
  static inline thread_local Clock::duration pause_{0};
  static inline thread_local Clock::time_point alone_{};

  const bool wanted_;
  State state_ = State::alone;
  std::int64_t asked_ = 0, next_ = kCalled;
  int tries_ = 0;
  std::size_t least_ = std::numeric_limits<std::size_t>::max();
  std::thread second_;
  void (*call_)(void*) = nullptr;
  void* what_ = nullptr;
  std::uint64_t count_ = 0;
  Clock::time_point began_;
  Clock::duration lost_{0};
  // Each on a line of the cache of its own: they are written to by different threads.
  alignas(64) std::atomic<std::uint64_t> posted_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  alignas(64) std::atomic<bool> left_{false}, here_{false};
};

// The halves of a loop over n rows where two threads share it; all and nothing where one does not.
class Halves {
 public:
  Halves(Duo* duo, std::size_t n) : duo_(duo && duo->shares(n) ? duo : nullptr) {}

  // Where the second half of `n` things begins, whole blocks before it.
  std::size_t cut(std::size_t n, std::size_t block) const {
    return duo_ ? n / (2 * block) * block : n;
  }

  template <typename Part>
  void both(Part&& part, bool brief = true) const {
    if (duo_) return duo_->both(part, brief);
    part(0);
    part(1);
  }

 private:
  Duo* duo_;
};

}  // namespace shortlist
