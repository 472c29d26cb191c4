// A script that loads a module and works at its top level.
const { spin } = require("./spin.js");

function workMain() { spin(1000); }

require("./module.js");
workMain();
