'use strict';
// The shop of the old days: ES5 only, so that Node 0.12 runs it as well as Node 16.
var crypto = require('crypto');
var express = require('express');
var fs = require('fs');
var path = require('path');
var zlib = require('zlib');
var handlebars = require('handlebars');
var _ = require('lodash');
var marked = require('marked');

var app = express();
var WORDS = ['lamp', 'chair', 'table', 'shelf', 'carpet', 'mirror', 'clock', 'vase', 'sofa', 'desk'];
var page = handlebars.compile('<ul>{{#each items}}<li id="i{{id}}"><b>{{name}}</b> {{price}}</li>{{/each}}</ul>');
var article = path.join(__dirname, 'article.md');

function Item(id) {
  this.id = id;
  this.name = WORDS[id % 10] + ' ' + WORDS[(id * 7) % 10] + ' ' + id;
  this.cents = 100 + (id * 7919) % 9000;
}

Object.defineProperty(Item.prototype, 'price', {
  get: function () { return this.cents / 100; },
});

Item.prototype.digest = function () {
  return crypto.createHash('sha1').update(this.name).digest('hex');
};

Item.prototype.toJSON = function toJSON() {
  return { id: this.id, name: this.name, price: this.price, digest: this.digest() };
};

var items = [];
for (var i = 0; i < 400; i++) items.push(new Item(i));

app.use(function requestId(req, res, next) {
  res.set('X-Request-Id', crypto.randomBytes(8).toString('hex'));
  next();
});

app.get('/', function (req, res) {
  res.send(page({ items: _.sortBy(items, 'price').slice(0, 20) }));
});

app.get('/search', function search(req, res) {
  var pattern = new RegExp('\\b(' + req.query.q + '|' + req.query.q + 's)\\b.*\\d+', 'i');
  var found = items.filter(function (item) { return pattern.exec(item.name); });
  res.json(_.map(_.take(_.orderBy(found, ['price', 'name'], ['desc', 'asc']), 20), function (item) {
    return _.pick(item, ['id', 'name', 'price']);
  }));
});

app.get('/article', function (req, res, next) {
  fs.readFile(article, 'utf8', function (error, text) {
    if (error) return next(error);
    res.send(marked(text).replace(/<(h[1-6]|li)>/g, function (all, tag) { return '<' + tag + ' class="' + tag.toUpperCase() + '">'; }));
  });
});

app.get('/login', function (req, res, next) {
  crypto.pbkdf2('correct horse', 'salt', 3000, 32, 'sha1', function (error, key) {
    if (error) return next(error);
    res.json({ token: key.toString('hex') });
  });
});

app.get('/report', function (req, res, next) {
  zlib.gzip(JSON.stringify(items), function (error, body) {
    if (error) return next(error);
    res.set('Content-Encoding', 'gzip').type('json').send(body);
  });
});

var server = app.listen(Number(process.env.PORT) || 3000, '127.0.0.1', function () {
  console.log('listening', server.address().port, process.pid);
});
