/** Links between pages: from files of the repository to pages of the site, and whether all of them lead somewhere. */
import { dirname, posix } from 'node:path';
import { mapLinks } from './markdown.mjs';
import { referencePath } from './pages.mjs';

const REFERENCE = 'conf/reference.md';
const DIRECTORIES = { 'conf/examples': 'examples/index', 'conf/deploy': 'files/index' };

/** The pages with links to each other instead of to files of the repository. What is no page is left as it is. */
export function linkPages(pages) {
  const paths = new Set(pages.map(({ path }) => path));
  const byFile = new Map(pages.map(({ file, path }) => [file, path]));
  const inReference = (anchor = '') => {
    const path = referencePath(anchor);
    if (paths.has(path)) return [path];
    const [, module, directive] = /^(\w+?)-(\w+)$/.exec(anchor) ?? [];
    return module === undefined ? ['reference/index'] : [referencePath(module), directive];
  };
  const targetOf = (file, anchor) => {
    if (file === REFERENCE) return inReference(anchor);
    const path = DIRECTORIES[file] ?? byFile.get(file);
    return path === undefined ? undefined : [path, anchor];
  };
  return pages.map((page) => {
    const here = dirname(page.path);
    const relink = (href) => {
      const [path, anchor] = href.split('#');
      if (/^\w+:/.test(href) || (path === '' && page.file !== REFERENCE)) return href;
      const file = path === '' ? REFERENCE : posix.join(dirname(page.file ?? page.path), path);
      if (file.startsWith('conf/images/')) return posix.relative(here, file.slice('conf/'.length));
      const [to, at] = targetOf(file, anchor) ?? [];
      return to === undefined ? href : `${posix.relative(here, to)}.md${at === undefined ? '' : `#${at}`}`;
    };
    return { ...page, text: mapLinks(page.text, relink) };
  });
}

/** Returns what is wrong with the links of the files of a version, `path: link`. */
export function brokenLinks(files) {
  const names = new Map();
  for (const [path, text] of files)
    if (path.endsWith('.html'))
      names.set(path, new Set([...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)));
  return [...files]
    .filter(([path]) => path.endsWith('.html'))
    .flatMap(([path, text]) =>
      [...text.matchAll(/ (href|src|srcset)="([^"]*)"/g)]
        .filter(([, attribute, href]) => !leadsSomewhere({ path, attribute, href, files, names }))
        .map(([, , href]) => `${path}: ${href}`),
    );
}

function leadsSomewhere({ path, attribute, href, files, names }) {
  // Only what a reader clicks may be elsewhere.
  if (href.startsWith('https:')) return attribute === 'href';
  const [target, anchor] = href.replace(/\?[^#]*/, '').split('#');
  const file = target === '' ? path : posix.join(dirname(path), target);
  if (file === '../versions.html') return true;
  return (
    files.has(file) && (anchor === undefined || names.get(file)?.has(decodeURIComponent(anchor)) === true)
  );
}
