import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { wholeFile } from '../../../harness/owner.ts';
import { perTier } from '../../../harness/tier.ts';
import { ConsoleBrowser, DESKTOP, expectShown, inPage } from './console-browser.ts';

/** Peers that are away, a cache, and locations that fail: every view has something to show. */
const MORE = `
  upstream shop { zone shop 64k; server 127.0.0.1:1 max_fails=1 fail_timeout=1h; server 127.0.0.1:2 down; }
  proxy_cache_path pages keys_zone=pages:1m max_size=10m;
  server {
    server_name shop;
    location / { proxy_cache pages; proxy_pass http://shop; }
  }`;

const browser = new ConsoleBrowser(wholeFile(), MORE);

const VIEWS = {
  overview: 'Overview',
  routes: 'Routes',
  config: 'Configuration',
  data: 'Data',
  events: 'Events',
  flags: 'Flags',
  log: 'Log',
  upstreams: 'Upstreams',
  caches: 'Caches',
  api: 'API',
  cluster: 'Cluster',
} as const;

const PHONE = { width: 390, height: 844 };
const LOOKS = perTier({
  short: [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const,
  long: [
    ['light', DESKTOP],
    ['light', PHONE],
    ['dark', DESKTOP],
    ['dark', PHONE],
  ] as const,
});

const AXE = readFileSync(new URL('../../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe finds in the page that keeps somebody from using it. */
async function seriousIn(page: Page): Promise<readonly string[]> {
  const { violations } = await inPage<{ violations: readonly Violation[] }>(page, 'axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

for (const [colorScheme, viewport] of LOOKS) {
  test(`axe finds nothing serious in any view, in ${colorScheme}, ${viewport.width} pixels wide`, async (t) => {
    for (const path of ['/broken', '/greeting', '/rest/fruit', '/rest/none']) await browser.gw.fetch(path);
    const { status } = await browser.gw.fetch('/', { headers: { Host: 'shop' } });
    expect(status).toBe(502);
    // The tool itself needs to add code to the page.
    const page = await browser.look(t, 'overview', { colorScheme, viewport, bypassCSP: true });
    await page.addScriptTag({ content: AXE });
    const found: string[] = [];
    for (const [view, title] of Object.entries(VIEWS)) {
      await inPage(page, `location.hash = '${view}'`);
      await expectShown(page.getByRole('heading', { level: 1, name: title }));
      await expectShown(page.locator('main .card').first());
      for (const violation of await seriousIn(page)) found.push(`${view}: ${violation}`);
    }
    expect(found).toEqual([]);
  });
}
