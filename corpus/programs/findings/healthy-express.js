// A healthy service on Express.
const express = require('express');
const app = express();
const items = Array.from({ length: 50 }, (_, id) => ({ id, name: `item ${id}`, price: id * 3 }));
app.use(express.json());
app.get('/items', (request, reply) => reply.json(items.filter((item) => item.id % 3 === 0)));
app.get('/items/:id', (request, reply) => reply.json(items[Number(request.params.id) % items.length]));
const server = app.listen(0, () => console.log(`ready ${server.address().port}`));
