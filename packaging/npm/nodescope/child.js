// Runs the program as a child, where it cannot take the place of this process: Windows, and Node before 22.15.
"use strict";

const { spawn } = require("node:child_process");

// What ends a recording. Windows sends Ctrl-C to both of us, and knows no other way to pass a signal on than to end
// the child.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

exports.run = function run(program, name, args) {
  let child;
  const passOn = (signal) => process.platform === "win32" || child?.kill(signal);
  for (const signal of SIGNALS) process.on(signal, passOn);
  child = spawn(program, args, { argv0: name, stdio: "inherit" });
  child.on("error", (error) => {
    process.stderr.write(`nodescope: cannot start ${program}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    for (const caught of SIGNALS) process.off(caught, passOn);
    process.exitCode = code ?? 1;
    // Who started us should see the same end.
    if (signal) process.kill(process.pid, signal);
  });
};
