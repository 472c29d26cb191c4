// graphql behind an HTTP server: two resolvers, one of which works after an await.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workName() { spin(2); }
function workStart() { spin(1); }
function workOrders() { spin(2); }

if (loadPort) ask(["/", "/"]);
else {
  const { GraphQLObjectType, GraphQLSchema, GraphQLString, graphql } = require("graphql");
  const fields = {
    name: { type: GraphQLString, resolve: function name() { workName(); return "shop"; } },
    orders: { type: GraphQLString, resolve: async function orders() { workStart(); await soon(); workOrders(); return "none"; } },
  };
  const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: "Query", fields }) });
  const server = require("node:http").createServer(async function serve(_, response) {
    response.end(JSON.stringify(await graphql({ schema, source: "{ name orders }" })));
  });
  server.listen(0, () => load(__filename, server.address().port));
}
