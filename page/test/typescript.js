// Lets Node run the page's TypeScript: `node --import ./test/typescript.js --test test/*.test.js`. Node 22.18 and newer
// can do that alone; for older ones, from 20.12 on, esbuild removes the types.

import { register } from "node:module";

if (!process.features.typescript) register("./typescript-hooks.js", import.meta.url);
