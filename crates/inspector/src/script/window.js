// Begins a window of samples, ends the one before, and returns what each of the two took: time and CPU time in ms
// before, in between and afterwards, and the CPU time of the whole process so far. Without either it only returns time
// and CPU time. The command line's `profile` is V8's own, whatever the application did to its console.
function nodescope(begin, end) {
  const cpu = () => {
    const used = (process.threadCpuUsage ?? process.cpuUsage).call(process);
    return (used.user + used.system) / 1000;
  };
  const times = [];
  const note = () => times.push(performance.now(), cpu());
  note();
  if (!begin && !end) return times.join();
  if (begin) profile(begin);
  note();
  if (end) profileEnd(end);
  note();
  const { user, system } = process.cpuUsage();
  return [...times, (user + system) / 1000].join();
}
