// A timer that asks another program for the load of the machine.
const { spawnSync } = require('node:child_process');

function machineLoad() {
  return spawnSync('sh', ['-c', 'sleep 0.15']).status;
}

setInterval(machineLoad, 400);
console.log('ready 0');
