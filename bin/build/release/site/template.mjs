/** The pages of the site as HTML. */
import { dirname, posix } from 'node:path';
import { escapeHtml, excerpt } from './markdown.mjs';
import { SECTIONS } from './pages.mjs';

/** Nothing inline, nothing from elsewhere. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'";
/** About as many as a search engine shows. */
const DESCRIPTION_CHARS = 155;

/** Returns a page as HTML. `pages` are all in the order of reading, `index` is that of this one. */
export function pageText({ pages, index, version }) {
  const page = pages[index];
  const { path, title, html, headings, intro } = page;
  const plainTitle = title.replaceAll('`', '');
  return documentText({
    root: path.includes('/') ? '../' : '',
    version,
    title: path === 'index' ? 'gw: a config-driven HTTP gateway' : `${plainTitle} · gw ${version}`,
    description: excerpt(intro, DESCRIPTION_CHARS) || `${plainTitle} in the documentation of gw.`,
    markdown: `${posix.basename(path)}.md`,
    sidebar: sidebar(pages, page),
    body: `<main id="content" class="${page.section}" tabindex="-1">
<article>
${path === 'index' ? withWays(html) : html}</article>
${neighbours(pages, index)}
</main>
${contents(headings)}`,
  });
}

/** What readers come for, on the start page before everything but its first paragraph. */
const WAYS = [
  ['#the-first-five-minutes', 'Begin', 'The demo: a gateway with a database and a store, in one command'],
  ['guide/from-nginx.html', 'From nginx', 'Serve the configuration that you have'],
  ['guide/rest.html', 'REST over PostgreSQL', 'Tables, views and functions as an API'],
  ['guide/index.html', 'Guide', 'Forwarding, caches, clusters, production'],
  ['reference/index.html', 'Reference', 'Every directive and variable'],
  ['examples/index.html', 'Examples', 'Configurations to start from'],
];

function withWays(html) {
  const links = WAYS.map(([href, name, what]) => `<a href="${href}"><strong>${name}</strong>${what}</a>\n`);
  return html.replace(
    '</p>\n',
    `</p>\n<nav class="ways" aria-label="Where to begin">\n${links.join('')}</nav>\n`,
  );
}

/** Returns the page that searches. */
export function searchText({ pages, version }) {
  return documentText({
    root: '',
    version,
    title: `Search · gw ${version}`,
    description: 'Searches the documentation of gw.',
    sidebar: sidebar(pages, { path: 'search', section: 'guide' }),
    searches: true,
    body: `<main id="content" tabindex="-1">
<h1>Search</h1>
${searchForm('')}
<noscript><p>The search needs JavaScript. <a href="reference/by-name.html">All directives by name</a></p></noscript>
</main>`,
  });
}

/** Returns the list of versions. */
export function versionsText(versions) {
  const items = versions.map((each) => `<li><a href="${each}/index.html">${each}</a>\n`);
  return documentText({
    root: 'latest/',
    version: versions[0],
    title: 'Versions · gw',
    description: 'The documentation of each version of gw.',
    body: `<main id="content" tabindex="-1">
<h1>Versions</h1>
<ul>
<li><a href="latest/index.html">latest</a>, today ${versions[0]}</li>
${items.join('')}</ul>
</main>`,
  });
}

/** Returns the page that leads from the top of the site to the newest version. */
export function forwardText() {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=latest/index.html">
<title>gw</title>
</head>
<body><p><a href="latest/index.html">The documentation of gw</a></p></body>
</html>
`;
}

function documentText({ root, version, title, description, markdown, body, ...rest }) {
  const { sidebar = '', searches = false } = rest;
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description)}">
<link rel="icon" href="${root}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}assets/style.css">
<script src="${root}assets/colours.js"></script>
<script src="${root}assets/page.js" defer></script>
${markdown === undefined ? '' : `<link rel="alternate" type="text/markdown" href="${markdown}">\n`}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
${sidebar === '' ? '' : '<button class="menu" type="button" popovertarget="menu">Menu</button>\n'}<a class="brand" href="${root}index.html"><img src="${root}assets/icon.svg" alt="" width="26" height="26"><span>gw</span></a>
<a class="version" href="${root}../versions.html">${version}</a>
${searches ? '' : searchForm(root)}
<button class="colours" type="button" hidden>${COLOURS_ICON}<span></span></button>
</header>
<div class="page">
${sidebar}${body}
</div>
<footer class="bottom">
<p>gw ${version}${markdown === undefined ? '' : ` · <a href="${markdown}">This page as Markdown</a>`} · <a href="${root}llms.txt">llms.txt</a></p>
</footer>
</body>
</html>
`;
}

const COLOURS_ICON =
  '<svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7"/><path d="M10 3a7 7 0 0 1 0 14z"/></svg>';

function searchForm(root) {
  return `<form class="search" role="search" action="${root}search.html">
<label for="q" class="unseen">Search the documentation</label>
<input id="q" name="q" type="search" placeholder="Search" autocomplete="off" spellcheck="false">
<kbd aria-hidden="true">/</kbd>
</form>`;
}

/** All sections; the one that is read shows its pages. */
function sidebar(pages, current) {
  const parts = Object.entries(SECTIONS).map(([section, { name, first }]) => {
    const head = `<h2><a href="${relativeTo(current, first)}">${name}</a></h2>\n`;
    const own = section === current.section ? pages.filter((page) => page.section === section) : [];
    return head + topics(own, current);
  });
  return `<nav id="menu" class="sidebar" aria-label="Documentation" popover>
${parts.join('')}</nav>
`;
}

function topics(pages, current) {
  const lists = [...new Set(pages.map(({ topic }) => topic))].map((topic) => {
    const own = pages.filter((page) => page.topic === topic);
    return `${topic === undefined ? '' : `<h3>${topic}</h3>\n`}${list(own, current)}`;
  });
  return lists.join('');
}

function list(pages, current) {
  const items = pages.map(({ path, nav }) => {
    const mark = path === current.path ? ' aria-current="page"' : '';
    return `<li><a href="${relativeTo(current, path)}"${mark}>${escapeHtml(nav)}</a>\n`;
  });
  return `<ul>\n${items.join('')}</ul>\n`;
}

function relativeTo({ path }, target) {
  return `${posix.relative(dirname(path), target)}.html`;
}

/** The page before and the one after, within a section. */
function neighbours(pages, index) {
  const link = (page, [rel, label]) =>
    page?.section === pages[index].section
      ? `<a rel="${rel}" href="${relativeTo(pages[index], page.path)}"><small>${label}</small> ${escapeHtml(page.nav)}</a>\n`
      : '';
  const links = link(pages[index - 1], ['prev', 'Previous']) + link(pages[index + 1], ['next', 'Next']);
  return links === '' ? '' : `<nav class="neighbours" aria-label="Previous and next page">\n${links}</nav>`;
}

/** The headings of a page. */
function contents(headings) {
  if (headings.length < 2) return '';
  const items = headings
    .filter(({ level }) => level <= 3)
    .map(({ id, text, level }) => `<li class="l${level}"><a href="#${id}">${escapeHtml(text)}</a>\n`);
  return `<nav class="contents" aria-labelledby="on-this-page">
<p id="on-this-page">On this page</p>
<ul>
${items.join('')}</ul>
</nav>`;
}
