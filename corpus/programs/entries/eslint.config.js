// A rule of its own that works once for each file.
const { spin } = require("./spin.js");

function workRule() { spin(400); }
const slow = { create: function createSlow() { workRule(); return {}; } };

module.exports = [{ files: ["**/*.js"], plugins: { own: { rules: { slow } } }, rules: { "own/slow": "error" } }];
