/**
 * The documentation as a site of plain files, `site/V/`, with a link `site/latest` to it. It works below any path and from
 * a file system, and asks nothing of other hosts.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { brokenLinks, linkPages } from './site/links.mjs';
import { renderer } from './site/markdown.mjs';
import { collectPages } from './site/pages.mjs';
import { searchIndex } from './site/search-index.mjs';
import { forwardText, pageText, searchText, versionsText } from './site/template.mjs';

const ASSETS = 'bin/build/release/site/assets';
const SUMMARY =
  "A config-driven HTTP gateway: nginx's configuration language with PostgreSQL REST, Redis and event locations.";

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
  const pages = linkPages(await collectPages(source));
  const rendered = pages.map((page) => ({ ...page, ...render(page) }));
  const files = new Map([
    ...rendered.map(({ path, text }) => [`${path}.md`, text]),
    ...rendered.map(({ path }, at) => [`${path}.html`, pageText({ rendered, at, version })]),
    ['search.html', searchText({ rendered, version })],
    ['llms.txt', contentsText(rendered, '')],
    ['assets/search-index.js', searchIndex(rendered)],
    ...(await assets(join(source, ASSETS))),
    ...imagesOf(rendered, source),
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
  if (versions[0] === version) root.push(['llms.txt', contentsText(rendered, 'latest/')]);
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

/** The images that pages show. */
function imagesOf(pages, source) {
  const names = new Set(pages.flatMap(({ html }) => html.match(/(?<="(?:\.\.\/)?images\/)[\w.-]+/g) ?? []));
  return [...names].map((name) => [`images/${name}`, readFileSync(join(source, 'conf/images', name))]);
}

/** The list of all pages in the form of llmstxt.org, with links to their Markdown. */
function contentsText(pages, root) {
  const sections = new Map(pages.map(({ section }) => [section, '']));
  for (const { section, path, nav } of pages)
    sections.set(section, `${sections.get(section)}- [${nav}](${root}${path}.md)\n`);
  const lists = [...sections].map(
    ([section, list]) => `## ${section[0].toUpperCase()}${section.slice(1)}\n\n${list}`,
  );
  return `# gw\n\n> ${SUMMARY}\n\n${lists.join('\n')}`;
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
