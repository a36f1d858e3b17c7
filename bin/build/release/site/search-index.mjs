/** The index of the search, as a script: pages from a file system may not fetch, but may load scripts. */
import MiniSearch from 'minisearch';
import { pack, SEARCH } from './assets/search-options.js';

const EXCERPT = 90;
/** Pages that only list what other pages have. */
const LISTS = ['reference/index', 'reference/by-name', 'rules/index', 'examples/index'];
const SECTIONS = {
  guide: 'Guide',
  reference: 'Reference',
  commands: 'Command line',
  rules: 'Rules of gw check',
  examples: 'Examples',
  project: 'Project',
  files: 'Files',
};

/** Returns the script. Its documents are the passages of the pages. */
export function searchIndex(pages) {
  const index = new MiniSearch(SEARCH);
  const documents = pages
    .filter(({ path }) => !LISTS.includes(path))
    .flatMap(({ path, title, section, found }) =>
      found.map(({ id, heading, text }) => ({
        name: heading,
        page: id === '' ? SECTIONS[section] : title.replaceAll('`', ''),
        text,
        excerpt: text.length > EXCERPT ? `${text.slice(0, text.lastIndexOf(' ', EXCERPT))} …` : text,
        url: `${path}.html${id === '' ? '' : `#${id}`}`,
      })),
    );
  index.addAll(documents.map((document, id) => ({ id, ...document })));
  return `gwSearch.load(${JSON.stringify(pack(index.toJSON()))});\n`;
}
