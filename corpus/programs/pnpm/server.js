'use strict';
const fastify = require('fastify')();
const _ = require('lodash');
const babel = require('@babel/core');

const source = 'export const area = (r) => { const { PI } = Math; return `${PI * r ** 2}`; };\n'.repeat(3).replace(/area/g, () => _.uniqueId('area'));

fastify.register(require('@fastify/formbody'));
fastify.get('/group', async () => _.groupBy(_.range(2000), (n) => n % 7));
fastify.get('/transform', async () => babel.transformSync(source, { babelrc: false, configFile: false }).code.length);
fastify.post('/form', async (request) => request.body);
fastify.listen({ port: Number(process.env.PORT) || 3000, host: '127.0.0.1' });
