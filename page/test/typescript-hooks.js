// Loads a file of TypeScript as a module, without its types.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";

export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const sourcefile = fileURLToPath(url);
  const text = await readFile(sourcefile, "utf8");
  const { code } = await transform(text, { loader: "ts", target: "es2022", sourcemap: "inline", sourcefile });
  return { format: "module", source: code, shortCircuit: true };
}
