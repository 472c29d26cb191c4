import { soon, spin } from "../spin.js";

function workPage() { spin(2); }

export const dynamic = "force-dynamic";

export default async function Page() {
  await soon();
  workPage();
  return <p>shop</p>;
}
