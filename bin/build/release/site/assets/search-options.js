/** What the index and the page that searches it must agree about, as how texts are divided into words. */

/** A name such as `proxy_read_timeout` is a word, and so is each part of it. */
function words(text) {
  return (text.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) =>
    word.includes('_') ? [word, ...word.split('_').filter(Boolean)] : [word],
  );
}

/** Words that are on every page, and what an apostrophe leaves. */
const EVERYWHERE = new Set(
  'a an and are as at be by for from has have in is it its no not of on one or that the their them they this to was what when which with s t'.split(
    ' ',
  ),
);

/** Options of MiniSearch. */
export const SEARCH = {
  fields: ['name', 'page', 'text'],
  storeFields: ['name', 'page', 'excerpt', 'url'],
  tokenize: words,
  processTerm: (word) => (EVERYWHERE.has(word.toLowerCase()) ? null : word.toLowerCase()),
  searchOptions: {
    // Typed words are divided at spaces only, so that a whole name is found before names with the same parts.
    tokenize: (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [],
    boost: { name: 6, page: 2 },
    // What is called as the word comes first, and a directive before what only mentions it.
    boostDocument: (_, term, { name, url }) =>
      (name.replace(/[$*]/g, '') === term ? 8 : 1) *
      (url.startsWith('reference/') && url.includes('#') ? 1.5 : 1),
    combineWith: 'AND',
    prefix: true,
    fuzzy: (word) => (word.length > 4 ? 0.2 : false),
    weights: { prefix: 0.6, fuzzy: 0.2 },
  },
};

/** Returns the results for typed words in an index, the best first. */
export function find(index, text, options = {}) {
  const all = index.search(text, options);
  // Many words that are nowhere together: pages that have some of them are better than none.
  const found = all.length > 0 ? all : index.search(text, { ...options, combineWith: 'OR' });
  const called = namesIn(text).flatMap((named) =>
    index.search(named, { ...options, prefix: false }).filter(({ name }) => name.toLowerCase() === named),
  );
  return [...new Map([...called, ...found].map((result) => [result.id, result])).values()];
}

/** The names that the words may stand for: a command, as `gw upgrade`, or a directive, as `log format`. */
function namesIn(text) {
  const typed = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const pairs = typed.slice(1).map((word, nth) => [typed[nth], word]);
  return [typed.join(' '), ...pairs.map((pair) => pair.join('_'))];
}
