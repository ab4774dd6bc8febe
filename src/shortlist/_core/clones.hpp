// Loops compiled for any processor, for AVX2 and for AVX-512, and chosen at run time where the
// platform can (GCC with the GNU C library); elsewhere, and under a sanitizer that would run
// before the choice is made, the compiler's default.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    __GNUC__ >= 12 && !defined(SHORTLIST_SANITIZED)
#define SHORTLIST_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define SHORTLIST_CLONED
#else
#define SHORTLIST_CLONES
#endif

// Whether the clone that runs is that for AVX-512, whose registers hold twice as much.
inline bool wide_registers() {
#if defined(SHORTLIST_CLONED)
  static const bool known = __builtin_cpu_supports("x86-64-v4");
  return known;
#else
  return false;
#endif
}

// What a clone calls has to become part of it, or it is compiled for any processor only.
#if defined(__GNUC__)
#define SHORTLIST_INLINE inline __attribute__((always_inline))
#else
#define SHORTLIST_INLINE inline
#endif
