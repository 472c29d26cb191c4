// How often a piece of work must be done to take so many milliseconds on this machine, so that a program is as slow on a
// fast machine as on a slow one. The work is compiled by then: the best of many rounds counts.
module.exports = function timesIn(milliseconds, work) {
  const end = performance.now() + 400;
  let best = Infinity;
  while (performance.now() < end) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return Math.max(1, Math.round(milliseconds / best));
};
