import { soon, spin } from "../../../spin.js";

function workStart() { spin(2); }
function workLoaded() { spin(2); }

export const dynamic = "force-dynamic";

export async function GET() {
  workStart();
  await soon();
  workLoaded();
  return Response.json({});
}
