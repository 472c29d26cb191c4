// Small inlined functions, for perf script --inline and -F +srcline. Build: g++ -O2 -g -o inline inline.cc
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace geometry {
struct Point {
  double x, y;
  inline double squared() const { return x * x + y * y; }
};

inline double scale(const Point &p, double by) { return p.squared() * by + by; }

template <typename T>
inline T accumulate(T sum, const Point &p, int i) {
  return sum + scale(p, T(i & 7)) / (sum + T(1));
}
}  // namespace geometry

__attribute__((noipa)) double hot(int rounds) {
  double sum = 0;
  for (int i = 0; i < rounds; i++) sum = geometry::accumulate(sum, geometry::Point{double(i), sum}, i);
  return sum;
}

__attribute__((noipa)) double middle(int rounds) { return hot(rounds) + 1; }

int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 1;
  int rounds = argc > 2 ? atoi(argv[2]) : 200000;
  double sum = 0;
  for (clock_t end = clock() + clock_t(seconds * CLOCKS_PER_SEC); clock() < end;) sum += middle(rounds);
  printf("%g\n", sum);
}
