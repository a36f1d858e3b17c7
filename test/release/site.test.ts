import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import MiniSearch from 'minisearch';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from '../harness/browser.ts';
import { type Gateway, GW, type Owner, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { IS_LONG, perTier } from '../harness/tier.ts';
import { makeArtifact, VERSION } from './artifacts.ts';

const dir = mkdtempSync(join(tmpdir(), 'gw-site-'));
const SITE = join(dir, 'site');
const file = wholeFile();
let files: readonly string[];
let gw: Gateway;
let browser: Browser;
afterAll(() => rmSync(dir, { recursive: true }));
beforeAll(async () => {
  const types =
    'types { text/html html; text/css css; text/javascript js; image/svg+xml svg; image/webp webp; }';
  const conf = `${types} server { location /docs/ { alias ${SITE}/; index index.html; } }`;
  [gw, browser] = await Promise.all([
    startGateway(file, conf),
    startBrowser(file),
    makeArtifact('site', dir),
  ]);
  const names = readdirSync(join(SITE, 'latest'), { recursive: true, encoding: 'utf8' });
  files = names.map((name) => `latest/${name}`).filter((name) => statSync(join(SITE, name)).isFile());
});

const read = (name: string): string => readFileSync(join(SITE, name), 'utf8');
const pages = (): string[] => files.filter((name) => name.endsWith('.html'));

test('the site is small, and latest is its newest version', () => {
  const bytes = (name: string): number => statSync(join(SITE, name)).size;
  expect(readdirSync(SITE)).toEqual([VERSION, 'index.html', 'latest', 'llms.txt', 'versions.html']);
  expect(files.reduce((sum, name) => sum + bytes(name), 0)).toBeLessThan(6 << 20);
  for (const name of pages()) expect([name, bytes(name) < 90_000]).toEqual([name, true]);
  expect(readlinkSync(join(SITE, 'latest'))).toBe(VERSION);
  expect(read('versions.html')).toContain(`href="${VERSION}/index.html"`);
});

const byText = (a = '', b = ''): number => (a < b ? -1 : 1);

test('every page is there as Markdown, and listed for programs', () => {
  const documents = pages().filter((name) => name !== 'latest/search.html');
  const twins = documents.map((name) => name.replace(/html$/, 'md'));
  expect(twins.filter((name) => !files.includes(name))).toEqual([]);
  const listed = [...read('llms.txt').matchAll(/\]\((.*)\)/g)].map(([, path]) => path);
  expect(listed.sort(byText)).toEqual(twins.sort(byText));
  // By the sections of the sidebar, in its order.
  const sections = [...read('latest/llms.txt').matchAll(/^## (.*)$/gm)].map(([, section]) => section);
  const sidebar = read('latest/index.html').matchAll(/<h2><a href="[^"]*">(.*)<\/a><\/h2>/g);
  expect(sections).toEqual(Array.from(sidebar, ([, section]) => section));
});

test('no page has anything inline, or loads anything from elsewhere', () => {
  for (const name of [...pages(), 'index.html', 'versions.html']) {
    if (name !== 'index.html') expect(read(name)).toContain("content=\"default-src 'none';");
    expect([
      name,
      read(name).match(/<script(?! src=")|<style|<[^>]* style=|<[^>]* on\w+=|(?:src|srcset)="(?:\w+:|\/)/),
    ]).toEqual([name, null]);
    expect([name, read(name).match(/<link[^>]* href="(?:\w+:|\/\/)/)]).toEqual([name, null]);
  }
  for (const name of files.filter((each) => /\.(?:js|css)$/.test(each) && !each.endsWith('search-index.js')))
    expect([name, read(name).match(/XMLHttpRequest|sendBeacon|WebSocket|@import|url\(|import\(/)]).toEqual([
      name,
      null,
    ]);
});

test('every page has a title, a description and one first heading', () => {
  const titles = pages().map((name) => {
    const page = read(name);
    expect([name, page.match(/<h1/g)?.length, / name="description" content="[^"]/.test(page)]).toEqual([
      name,
      1,
      true,
    ]);
    return /<title>(.*)<\/title>/.exec(page)?.[1];
  });
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});

/** The search as the pages have it: the options of their script, and the index. */
async function search(): Promise<(text: string) => readonly { readonly url: string }[]> {
  const options = new URL('../../bin/build/release/site/assets/search-options.js', import.meta.url).href;
  const { find, SEARCH } = (await import(options)) as {
    find: (index: object, text: string, options: object) => never;
    SEARCH: never;
  };
  const script = read('latest/assets/search-index.js');
  const made = runInThisContext(script.replace(/^gwSearch\.load/, '')) as never;
  const index = MiniSearch.loadJS<never>(made, SEARCH);
  // Words that are only similar count least; to look for them takes most of the time.
  return (text) => find(index, text, { fuzzy: false });
}

/** What the program lists: directives or variables. */
function named(command: string): readonly { readonly name: string }[] {
  return JSON.parse(execFileSync(process.execPath, [GW, command, '--json'], { encoding: 'utf8' })) as never;
}

test('every directive and variable has an anchor, and is the first that a search for its name finds', async () => {
  const find = await search();
  const names = [...named('list-directives'), ...named('list-variables')];
  expect(names.length).toBeGreaterThan(900);
  // A search takes milliseconds.
  const searched = names.filter((_, nth) => nth % perTier({ short: 8, long: 1 }) === 0);
  const lost = searched.filter(({ name }) => {
    const bare = name.replace('$', '');
    const [page = '', anchor] = find(name)[0]?.url.split('#') ?? [];
    const isThere = page.startsWith('reference/') && (anchor === bare || page === `reference/${bare}.html`);
    return !isThere || !read(`latest/${page}`).includes(` id="${bare}"`);
  });
  expect(lost.map(({ name }) => name)).toEqual([]);
});

test('the search finds both words around the end of a line', async () => {
  const find = await search();
  // In the manual a line has "-h, --help", the next one "show this help".
  expect(find('show this help')[0]?.url).toMatch(/^commands\//);
  expect(find('helpshow')).toEqual([]);
});

test('the search finds what plain words stand for', async () => {
  const find = await search();
  expect(find('gw upgrade')[0]?.url).toMatch(/^commands\/upgrade/);
  expect(find('log format json')[0]?.url).toMatch(/#log_format/);
  expect(find('access log off')[0]?.url).toMatch(/#access_log/);
  // The letter behind an apostrophe begins hundreds of words.
  expect(find("let's encrypt").length).toBeLessThan(100);
});

test('a link that leads nowhere ends the build, which names it', async () => {
  const links = new URL('../../bin/build/release/site/links.mjs', import.meta.url).href;
  const { brokenLinks } = (await import(links)) as { brokenLinks: (files: Map<string, string>) => string[] };
  const page =
    '<a href="b.html#x"> <a href="b.html#y"> <a href="c.html"> <img src="https://example.com/a.png">';
  const broken = brokenLinks(
    new Map([
      ['a.html', page],
      ['b.html', '<h2 id="x">'],
    ]),
  );
  expect(broken).toEqual(['a.html: b.html#y', 'a.html: c.html', 'a.html: https://example.com/a.png']);
});

/** Opens a page; the test fails when that reports a fault. */
async function open(t: Owner, path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const { page, faults } = await openPage(browser, { gw, path: `/docs/latest/${path}`, ...options });
  t.onTestFinished(async () => {
    await page.context().close();
    expect(faults).toEqual([]);
  });
  return page;
}
const inPage = <T>(page: Page, code: string): Promise<T> => page.evaluate<T>(code);

test('the search is used by keyboard', async (t) => {
  const page = await open(t, 'guide/upstreams.html');
  await page.keyboard.press('/');
  await page.keyboard.type('proxy_read_tim');
  await page.getByRole('option', { name: 'proxy_read_timeout', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/reference/proxy.html#proxy_read_timeout');
  await page.keyboard.press('/');
  await page.keyboard.type('rate limits');
  await page.getByRole('option').nth(1).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  const second = await page.getByRole('option').nth(1).getAttribute('href');
  expect(await page.getByRole('option', { selected: true }).getAttribute('href')).toBe(second);
  await page.keyboard.press('Escape');
  await page.getByRole('listbox').waitFor({ state: 'hidden' });
});

test('the page that searches shows the results of its address', async (t) => {
  const page = await open(t, 'search.html?q=alias-traversal');
  await page.getByRole('option', { name: 'GW301', selected: true }).waitFor();
  expect(await page.getByRole('option', { selected: true }).getAttribute('href')).toBe(
    'rules/gw3.html#gw301',
  );
});

test('the colours follow the system until others are chosen, which persist', async (t) => {
  const page = await open(t, 'index.html', { colorScheme: 'dark' });
  const ground = 'getComputedStyle(document.body).backgroundColor';
  expect(await inPage(page, ground)).toBe('rgb(12, 17, 17)');
  await page.emulateMedia({ media: 'print' });
  expect(await inPage(page, ground)).toBe('rgb(255, 255, 255)');
  await page.emulateMedia({ media: 'screen' });
  await page.getByRole('button', { name: 'Colours' }).click();
  expect(await inPage(page, ground)).toBe('rgb(255, 255, 255)');
  await page.reload();
  expect(await inPage(page, ground)).toBe('rgb(255, 255, 255)');
});

const LONGEST = [
  'guide/metrics.html',
  'reference/core.html',
  'rules/index.html',
  'index.html',
  'guide/from-nginx.html',
];

test('pages fit a screen of 320 pixels, with their menu', async (t) => {
  const page = await open(t, 'index.html', { viewport: { width: 320, height: 640 } });
  for (const path of LONGEST.slice(0, perTier({ short: 3, long: Infinity }))) {
    await page.goto(`${gw.url}/docs/latest/${path}`);
    expect([path, await inPage(page, 'document.documentElement.scrollWidth')]).toEqual([path, 320]);
  }
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Command line' }).click();
  await page.waitForURL('**/commands/index.html');
});

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

// It takes a second or more for each page.
test.runIf(IS_LONG).each(['light', 'dark'] as const)(
  'axe finds nothing serious in %s',
  async (colorScheme) => {
    // The tool itself needs to add code to the page.
    const context = await browser.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    for (const path of [...LONGEST, 'commands/cache.html', 'examples/rest.html', 'search.html?q=cache']) {
      await page.goto(`${gw.url}/docs/latest/${path}`);
      await page.addScriptTag({ content: AXE });
      const found = await inPage<{
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      }>(page, 'axe.run()');
      const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      expect([path, serious.map(({ id, nodes }) => [id, nodes[0]?.html])]).toEqual([path, []]);
    }
    await context.close();
  },
  300_000,
);
