/** The index of the search, as a script: pages from a file system may not fetch, but may load scripts. */
import MiniSearch from 'minisearch';
import { SEARCH } from './assets/search-options.js';
import { excerpt } from './markdown.mjs';
import { SECTIONS } from './pages.mjs';

const EXCERPT_CHARS = 90;
/** Pages that only list what other pages have. */
const LISTS = ['reference/index', 'reference/by-name', 'rules/index', 'examples/index'];

/** Returns the script. Its documents are the passages of the pages. */
export function searchIndex(pages) {
  const index = new MiniSearch(SEARCH);
  const documents = pages
    .filter(({ path }) => !LISTS.includes(path))
    .flatMap(({ path, title, section, passages }) =>
      passages.map(({ id, heading, text, code }) => ({
        name: heading,
        page: id === '' ? SECTIONS[section].name : title.replaceAll('`', ''),
        text: text + code,
        excerpt: excerpt(text + code, EXCERPT_CHARS),
        url: `${path}.html${id === '' ? '' : `#${id}`}`,
      })),
    );
  index.addAll(documents.map((document, id) => ({ id, ...document })));
  return `gwSearch.load(${JSON.stringify(index)});\n`;
}
