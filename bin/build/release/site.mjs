/**
 * The documentation as a site of plain files, `site/V/`, with a link `site/latest` to it. It works below any path and from
 * a file system, and asks nothing of other hosts.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { readJson } from './json.mjs';
import { brokenLinks, linkPages } from './site/links.mjs';
import { renderer } from './site/markdown.mjs';
import { collectPages, SECTIONS } from './site/pages.mjs';
import { searchIndex } from './site/search-index.mjs';
import { forwardText, pageText, searchText, versionsText } from './site/template.mjs';

const ASSETS = 'bin/build/release/site/assets';

/** Makes the artifact of a release: a new directory `site`. */
export async function make({ out, version, source }) {
  const directory = join(out, 'site');
  rmSync(directory, { recursive: true, force: true });
  await writeSite({ directory, version, source });
  return [directory];
}

/**
 * Writes the documentation of a version into a directory. Other versions in it stay, and `latest` is the newest one.
 * Throws a message with every broken link.
 */
export async function writeSite({ directory, version, source }) {
  const render = renderer();
  const pages = linkPages(await collectPages(source)).map((page) => ({ ...page, ...render(page) }));
  const { description } = readJson(join(source, 'package.json'));
  const files = new Map([
    ...pages.map(({ path, text }) => [`${path}.md`, text]),
    ...pages.map(({ path }, index) => [`${path}.html`, pageText({ pages, index, version })]),
    ['search.html', searchText({ pages, version })],
    ['llms.txt', contentsText(pages, { description, root: '' })],
    ['assets/search-index.js', searchIndex(pages)],
    ...(await assets(join(source, ASSETS))),
    ...images(join(source, 'conf/images')),
  ]);
  const broken = brokenLinks(files);
  if (broken.length > 0) throw new Error(`the site has broken links\n  ${broken.join('\n  ')}`);
  writeFiles(join(directory, version), files);
  const versions = versionsIn(directory);
  rmSync(join(directory, 'latest'), { recursive: true, force: true });
  symlinkSync(versions[0], join(directory, 'latest'));
  const root = [
    ['index.html', forwardText()],
    ['versions.html', versionsText(versions)],
  ];
  if (versions[0] === version) root.push(['llms.txt', contentsText(pages, { description, root: 'latest/' })]);
  for (const [name, content] of root) writeFileSync(join(directory, name), content);
}

/** The style sheet, the scripts and the icon, small. */
async function assets(directory) {
  const { outputFiles } = await build({
    entryPoints: ['style.css', 'colours.js', 'page.js', 'search.js'].map((name) => join(directory, name)),
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    outdir: 'assets',
    write: false,
  });
  const built = outputFiles.map(({ path, text }) => [path.slice(path.lastIndexOf('assets/')), text]);
  return [...built, ['assets/icon.svg', readFileSync(join(directory, 'icon.svg'))]];
}

function images(directory) {
  return readdirSync(directory).map((name) => [`images/${name}`, readFileSync(join(directory, name))]);
}

/** The list of all pages in the form of llmstxt.org, with links to their Markdown. */
function contentsText(pages, { description, root }) {
  const lists = Object.entries(SECTIONS).map(([section, { name }]) => {
    const own = pages.filter((page) => page.section === section);
    return `## ${name}\n\n${own.map(({ path, nav }) => `- [${nav}](${root}${path}.md)\n`).join('')}`;
  });
  return `# gw\n\n> ${description}\n\n${lists.join('\n')}`;
}

function writeFiles(directory, files) {
  rmSync(directory, { recursive: true, force: true });
  for (const [path, content] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

/** The versions in a directory, the newest first. Releases come before all pre-releases. */
function versionsIn(directory) {
  const versions = readdirSync(directory).filter((name) => /^\d+\.\d+\.\d+/.test(name));
  const isPreRelease = (version) => Number(version.includes('-'));
  const newer = new Intl.Collator('en', { numeric: true });
  return versions.sort((a, b) => isPreRelease(a) - isPreRelease(b) || newer.compare(b, a));
}
