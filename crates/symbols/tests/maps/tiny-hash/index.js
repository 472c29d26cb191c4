// A package that the application uses: FNV-1a, over and over.
'use strict';

exports.hashRounds = function hashRounds(text, rounds) {
  let hash = 2166136261;
  for (let round = 0; round < rounds; round++) {
    for (let place = 0; place < text.length; place++) {
      hash ^= text.charCodeAt(place);
      hash = Math.imul(hash, 16777619);
    }
  }
  return hash >>> 0;
};
