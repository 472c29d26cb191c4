// Work that takes so many milliseconds of CPU, and the load: requests from a process of their own, so that the recorded
// one only serves.
const { fork } = require("node:child_process");

exports.spin = (ms) => {
  const end = performance.now() + ms;
  let sum = 0;
  while (performance.now() < end) sum += Math.sqrt(sum + 1);
  return sum;
};

exports.soon = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Runs `file load PORT` until this process ends, and says that all is ready. */
exports.load = (file, port) => {
  const child = fork(file, ["load", String(port)], { execArgv: [] });
  process.on("exit", () => child.kill());
  process.on("SIGTERM", () => process.exit());
  console.log("ready");
};

/** The port, in the process that makes the load. */
exports.loadPort = process.argv[2] === "load" ? Number(process.argv[3]) : 0;

/** Asks for these paths, each over a connection of its own, again and again. */
exports.ask = (paths, options = {}, http = require("node:http")) => {
  process.on("disconnect", () => process.exit());
  for (const path of paths) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const again = () => {
      const request = http.request({ port: exports.loadPort, path, agent, ...options }, (answer) => answer.resume().on("end", again));
      request.on("error", () => setTimeout(again, 10));
      request.end(options.body);
    };
    again();
  }
};
