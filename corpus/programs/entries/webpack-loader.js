// Works once for each file.
const { spin } = require("./spin.js");

function workFile() { spin(300); }

module.exports = function loadFile(text) { workFile(); return text; };
