/** What the index and the page that searches it must agree about: how texts are divided into words, and the form of the index. */

/** A name such as `proxy_read_timeout` is a word, and so is each part of it. */
function words(text) {
  return (text.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) =>
    word.includes('_') ? [word, ...word.split('_').filter(Boolean)] : [word],
  );
}

/** Words that are on every page. */
const EVERYWHERE = new Set(
  'a an and are as at be by for from has have in is it its no not of on one or that the their them they this to was what when which with'.split(
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

/** Returns the data of an index in half the size: lists instead of objects, and differences instead of numbers of documents. */
export function pack({ index, storedFields, documentIds, ...rest }) {
  const terms = index.map(([term, fields]) => [
    term,
    ...Object.entries(fields).map(([field, documents]) => {
      let last = 0;
      const numbers = Object.entries(documents).flatMap(([id, count]) => {
        const step = Number(id) - last;
        last = Number(id);
        return count === 1 ? [step] : [step, -count];
      });
      return [Number(field), ...numbers];
    }),
  ]);
  const stored = Object.keys(documentIds).map((id) =>
    SEARCH.storeFields.map((name) => storedFields[id][name]),
  );
  return { ...rest, index: terms, storedFields: stored };
}

/** Returns what was packed. */
export function unpack({ index, storedFields, ...rest }) {
  const terms = index.map(([term, ...fields]) => [
    term,
    Object.fromEntries(fields.map(([field, ...numbers]) => [field, counts(numbers)])),
  ]);
  const documents = storedFields.map((values) =>
    Object.fromEntries(SEARCH.storeFields.map((name, at) => [name, values[at]])),
  );
  return {
    ...rest,
    index: terms,
    storedFields: { ...documents },
    documentIds: { ...documents.map((_, id) => id) },
  };
}

function counts(numbers) {
  const documents = {};
  let last = 0;
  for (const [at, number] of numbers.entries()) {
    if (number < 0) continue;
    last += number;
    documents[last] = numbers[at + 1] < 0 ? -numbers[at + 1] : 1;
  }
  return documents;
}
