// grpc-js: a unary call that works at once and after an await.
const { load, loadPort, soon, spin } = require("./spin.js");
const grpc = require("@grpc/grpc-js");

function workCall() { spin(2); }
function workLoaded() { spin(2); }
async function getOrder(_, answer) { workCall(); await soon(); workLoaded(); answer(null, Buffer.from("order")); }

const same = (bytes) => bytes;
const method = { path: "/Shop/getOrder", requestStream: false, responseStream: false, requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };

if (loadPort) {
  process.on("disconnect", () => process.exit());
  const client = new grpc.Client(`localhost:${loadPort}`, grpc.credentials.createInsecure());
  const again = () => client.makeUnaryRequest(method.path, same, same, Buffer.from("x"), again);
  again();
} else {
  const server = new grpc.Server();
  server.addService({ getOrder: method }, { getOrder });
  server.bindAsync("localhost:0", grpc.ServerCredentials.createInsecure(), (_, port) => load(__filename, port));
}
