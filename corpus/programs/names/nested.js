// A known nesting of calls, each on a line of its own: see crates/nodescope/tests/javascript_names.rs.
'use strict';

const end = Date.now() + Number(process.env.SECONDS || 30) * 1000;

function spin(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += i % 7;
  return sum;
}

// Made anew for each turn, so that it never gets hot: the interpreter runs it. V8 keeps positions because of `stack`.
function chain(turn) {
  return (0, eval)(`(function outer(spin) {
    function third(n) {
      const stack = new Error('here').stack;
      return stack.length +
        spin(n);
    }

    function second(n) {
      return 1 + third(n);
    }

    const first = (n) => {
      return 2 * second(n);
    };

    return first(200000);
  }) // ${turn}`)(spin);
}

function main() {
  let turn = 0;
  while (Date.now() < end) {
    for (let i = 0; i < 10; i++) {
      chain(turn++);
    }
  }
}

setImmediate(main);
