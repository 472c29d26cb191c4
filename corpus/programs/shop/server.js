'use strict';
// A small web shop. It does what services do: routing, templates, markdown, parsing,
// validation, JSON, and work on libuv's pool (pbkdf2, gzip, files).
const crypto = require('crypto');
const express = require('express');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');
const { promisify } = require('util');
const _ = require('lodash');
const { marked } = require('marked');
const { parse } = require('@babel/parser');
const { v4: uuid } = require('uuid');
const { Catalogue } = require('./lib/catalogue');
const { Basket } = require('./lib/basket');

const pbkdf2 = promisify(crypto.pbkdf2);
const gzip = promisify(zlib.gzip);
const readFile = promisify(fs.readFile);

const app = express();
const catalogue = new Catalogue(400);
const articlePath = path.join(__dirname, 'content', 'article.md');

app.set('view engine', 'ejs');
app.set('views', path.join(__dirname, 'views'));
app.use(express.json());
app.use(function requestId(req, res, next) {
  res.set('X-Request-Id', uuid());
  next();
});

app.get('/', (req, res) => {
  res.render('index', { title: 'Shop', items: catalogue.page(1, 20) });
});

app.get('/search', (req, res) => {
  const found = catalogue.search(String(req.query.q || 'lamp'));
  const best = _.take(_.orderBy(found, ['score', 'price'], ['desc', 'asc']), 20);
  res.json(_.map(best, (item) => _.pick(item, ['id', 'name', 'price', 'label'])));
});

app.get('/article', async function renderArticle(req, res, next) {
  try {
    const text = await readFile(articlePath, 'utf8');
    res.send(marked.parse(text));
  } catch (error) {
    next(error);
  }
});

app.get('/parse', async (req, res, next) => {
  try {
    const source = await readFile(__filename, 'utf8');
    const tree = parse(source, { sourceType: 'script' });
    res.json({ statements: tree.program.body.length, comments: tree.comments.length });
  } catch (error) {
    next(error);
  }
});

app.post('/login', async function login(req, res, next) {
  try {
    const key = await pbkdf2(req.body.password, 'salt', 3000, 32, 'sha256');
    res.json({ token: key.toString('hex') });
  } catch (error) {
    next(error);
  }
});

app.get('/report', async (req, res, next) => {
  try {
    const basket = Basket.fill(catalogue, 30);
    const body = await gzip(JSON.stringify({ basket, total: basket.total, items: catalogue.items }));
    res.set('Content-Encoding', 'gzip').type('json').send(body);
  } catch (error) {
    next(error);
  }
});

const server = app.listen(Number(process.env.PORT) || 3000, '127.0.0.1', () => {
  console.log('listening', server.address().port, process.pid);
});
