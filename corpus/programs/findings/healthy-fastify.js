// A healthy service on Fastify.
const fastify = require('fastify')();
const items = Array.from({ length: 50 }, (_, id) => ({ id, name: `item ${id}`, price: id * 3 }));
fastify.get('/items', async () => items.filter((item) => item.id % 3 === 0));
fastify.get('/items/:id', async (request) => items[Number(request.params.id) % items.length]);
fastify.listen({ port: 0 }).then(() => console.log(`ready ${fastify.server.address().port}`));
