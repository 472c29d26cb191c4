// For Vitest.
import { describe, it } from "vitest";
import spinning from "./spin.js";

function workTest() { spinning.spin(1000); }
function workStart() { spinning.spin(500); }
function workLoaded() { spinning.spin(1000); }

describe("the shop", () => {
  it("lists", function lists() { workTest(); });
  it("loads", async function loads() { workStart(); await spinning.soon(); workLoaded(); });
});
