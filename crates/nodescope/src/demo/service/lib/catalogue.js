// Articles, and the page that shows those that match.
'use strict';

const { touchSession } = require('./sessions');

const PAGE = `<!doctype html>
<title>{{ title }}</title>
<h1>{{ title }}</h1>
<ul>{{#each articles}}
  <li id="{{ id }}"><b>{{ name }}</b> {{ price }} <i>{{ text }}</i></li>{{/each}}
</ul>
<p>{{ count }} articles for {{ user }}</p>`;

const WORDS = ['lamp', 'table', 'green', 'small', 'wooden', 'chair', 'round', 'soft', 'bright', 'garden', 'kettle', 'blue'];

const catalogue = makeCatalogue(600);

async function listArticles(url) {
  const wanted = url.searchParams.get('q') || '';
  const user = url.searchParams.get('user') || 'guest';
  touchSession(user);
  const articles = await findArticles(wanted);
  return { type: 'text/html; charset=utf-8', body: renderPage(wanted, articles, user) };
}

async function findArticles(wanted) {
  const rows = await queryDatabase();
  const pattern = new RegExp(`\\b${wanted.replace(/[^a-z]/gi, '')}[a-z]*`, 'i');
  return rows.filter((article) => pattern.test(article.text)).slice(0, 60);
}

/** A database would answer a little later, too. */
function queryDatabase() {
  return new Promise((resolve) => setTimeout(resolve, 1, catalogue));
}

function renderPage(wanted, articles, user) {
  const values = { title: `Articles like ${wanted}`, articles, count: articles.length, user };
  const withLists = PAGE.replace(/\{\{#each (\w+)\}\}([^]*?)\{\{\/each\}\}/g, (_, name, inner) =>
    values[name].map((value) => fillIn(inner, value)).join('')
  );
  return fillIn(withLists, values);
}

function fillIn(text, values) {
  return text.replace(/\{\{ (\w+) \}\}/g, (_, name) => escapeHtml(String(values[name])));
}

function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function makeCatalogue(count) {
  const word = (number) => WORDS[number % WORDS.length];
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: `${word(id * 7)} ${word(id * 5 + 3)}`,
    price: 100 + ((id * 37) % 900),
    text: `A ${word(id)} ${word(id * 3 + 1)} <new> & ${word(id * 11)} for every ${word(id * 13 + 5)} room`,
  }));
}

module.exports = { catalogue, listArticles, queryDatabase };
