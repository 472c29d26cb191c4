// The same as an ES module, which goes on after an await.
import "./module.js";
import spinning from "./spin.js";

function workMain() { spinning.spin(1000); }
function workLater() { spinning.spin(1000); }

workMain();
await spinning.soon();
workLater();
