// A module whose top-level code works.
const { spin } = require("./spin.js");

function workModule() { spin(1000); }

workModule();
