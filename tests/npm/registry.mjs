// A registry with what is published to it and nothing else: it asks no other. Prints its address, and ends when its
// stdin does.
//
//   node registry.mjs FOLDER

import { runServer } from "verdaccio";

const [folder] = process.argv.slice(2);
const server = await runServer({
  self_path: folder,
  storage: `${folder}/storage`,
  auth: { htpasswd: { file: `${folder}/htpasswd`, max_users: -1 } },
  uplinks: {},
  packages: { "**": { access: "$all", publish: "$all" } },
  log: { type: "stdout", format: "pretty", level: "fatal" },
  max_body_size: "200mb",
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`));
process.stdin.on("end", () => process.exit()).resume();
