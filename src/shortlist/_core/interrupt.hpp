// How a long loop answers Ctrl-C and keeps a deadline.
//
// Loops run without the interpreter's lock and tell a Watch how much they have done. Every
// few milliseconds it reads the clock; every 50 ms it lets the interpreter handle its
// signals, and throws what a handler raised. Loops that may end early, as if their limit of
// steps had been reached, ask whether the deadline of their thread has passed; others, whose
// sums would be wrong, do not.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace shortlist {

using Clock = std::chrono::steady_clock;

// Of the solver that runs in this thread; the end of time where there is none.
inline thread_local Clock::time_point deadline = Clock::time_point::max();

inline void set_deadline(double seconds) {
  const auto now = Clock::now();
  const std::chrono::duration<double> most = Clock::time_point::max() - now;
  deadline = seconds < 0.5 * most.count()
                 ? now + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(std::max(seconds, 0.0)))
                 : Clock::time_point::max();
}

// When this thread last handled signals: many short loops do so no more often than a long one.
inline thread_local Clock::time_point signals_handled{};

class Watch {
 public:
  // Counts work, in multiplications or so. True once the deadline has passed.
  bool late(std::size_t work) {
    done_ += work;
    return done_ >= kLook && look();
  }

  // The same where the loop has to be finished.
  void count(std::size_t work) { late(work); }

  // run(first, last) over the parts of 0..n, `work` for each of the n.
  template <typename Run>
  void parts(std::size_t n, std::size_t work, Run run) {
    const std::size_t size = std::max<std::size_t>(1, kLook / std::max<std::size_t>(1, work));
    for (std::size_t first = 0; first < n; first += size) {
      const std::size_t last = std::min(n, first + size);
      run(first, last);
      count((last - first) * work);
    }
  }

  static constexpr std::size_t kLook = std::size_t{1} << 20;

 private:
  bool look() {
    done_ = 0;
    const auto now = Clock::now();
    if (now - signals_handled >= std::chrono::milliseconds(50)) {
      signals_handled = now;
      nanobind::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }
    return now >= deadline;
  }

  std::size_t done_ = 0;
};

}  // namespace shortlist
