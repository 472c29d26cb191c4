// Sessions and logins. What was not used for the longest time is forgotten first: a Map keeps the order of its keys.
'use strict';

const crypto = require('crypto');
const { promisify } = require('util');

const pbkdf2 = promisify(crypto.pbkdf2);
const MOST_SESSIONS = 4000;
const sessions = new Map();

/** Slow on purpose, and on libuv's pool. */
async function login(url, body) {
  const { user, password } = JSON.parse(body);
  const key = await pbkdf2(password, `salt of ${user}`, 8000, 32, 'sha512');
  const session = touchSession(user);
  session.token = key.toString('hex');
  return { type: 'application/json', body: JSON.stringify({ token: session.token }) };
}

function touchSession(user) {
  const session = sessions.get(user) || openSession(user);
  sessions.delete(user);
  sessions.set(user, session);
  if (sessions.size > MOST_SESSIONS) evictSessions(MOST_SESSIONS / 10);
  return session;
}

function openSession(user) {
  const seen = Array.from({ length: 150 }, (_, id) => ({ id, name: `article ${id} of ${user}`, times: 0 }));
  return { user, seen, orders: [], token: null };
}

function evictSessions(count) {
  for (const user of sessions.keys()) {
    if (count-- <= 0) return;
    sessions.delete(user);
  }
}

module.exports = { login, touchSession };
