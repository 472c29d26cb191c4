// For mocha and jest, as both have describe and it.
const { soon, spin } = require("./spin.js");

function workTest() { spin(1000); }
function workStart() { spin(1000); }
function workLoaded() { spin(1000); }

describe("the shop", () => {
  it("lists", function lists() { workTest(); });
  it("loads", async function loads() { workStart(); await soon(); workLoaded(); });
});
