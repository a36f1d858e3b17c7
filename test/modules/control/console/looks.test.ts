import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { wholeFile } from '../../../harness/owner.ts';
import { ConsoleBrowser, DESKTOP, expectInPage, expectShown, inPage } from './console-browser.ts';

const browser = new ConsoleBrowser(wholeFile());

const VIEWS = [
  'overview',
  'routes',
  'config',
  'data',
  'events',
  'flags',
  'log',
  'upstreams',
  'caches',
  'api',
  'cluster',
] as const;
const TITLES = [
  'Overview',
  'Routes',
  'Configuration',
  'Data',
  'Events',
  'Flags',
  'Log',
  'Upstreams',
  'Caches',
  'API',
  'Cluster',
];
const PHONE = { width: 390, height: 844 };

const looks = [
  { as: 'in light', options: { colorScheme: 'light' }, ground: 'rgb(245, 247, 246)' },
  { as: 'in dark', options: { colorScheme: 'dark' }, ground: 'rgb(12, 17, 17)' },
  {
    as: 'on a phone',
    options: { viewport: PHONE, hasTouch: true, isMobile: true },
    ground: 'rgb(245, 247, 246)',
  },
] as const;

for (const { as, options, ground } of looks) {
  test(`every page renders ${as} and fits the screen`, async (t) => {
    const page = await browser.look(t, 'overview', options);
    for (const [index, view] of VIEWS.entries()) {
      await inPage(page, `location.hash = '${view}'`);
      await expectShown(page.getByRole('heading', { level: 1, name: TITLES[index] ?? '' }));
      await expectShown(page.locator('main .card').first());
      // A phone makes `innerWidth` as large as what is too wide.
      const width = await inPage<number>(page, 'document.documentElement.scrollWidth');
      expect([view, width]).toEqual([view, 'viewport' in options ? PHONE.width : DESKTOP.width]);
      expect(await inPage(page, 'getComputedStyle(document.body).backgroundColor')).toBe(ground);
    }
  });
}

test('the chosen colours override those of the system, and persist', async (t) => {
  const page = await browser.look(t, 'overview', { colorScheme: 'light' });
  await page.getByRole('radio', { name: 'Dark' }).check();
  const dark = `getComputedStyle(document.body).backgroundColor === 'rgb(12, 17, 17)'`;
  await expectInPage(page, dark);
  await page.reload();
  await expectInPage(page, dark);
  await page.getByRole('radio', { name: 'Auto' }).check();
  await expectInPage(page, `!(${dark})`);
});

const focused = (page: Page): Promise<string> => inPage<string>(page, 'document.activeElement.textContent');

test('the Tab key begins at the top of a view that a key has opened', async (t) => {
  const page = await browser.look(t, 'overview');
  await page.keyboard.press('2');
  await expectShown(page.getByRole('heading', { level: 1, name: 'Routes' }));
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
});

test('the console can be used by keyboard alone', async (t) => {
  await browser.gw.fetch('/runtime/flag/set?name=greeting&enabled=false&ttl_s=0');
  const page = await browser.look(t, 'overview');
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await inPage(page, 'document.activeElement.id')).toBe('content');
  await page.keyboard.press('2');
  await expectShown(page.getByRole('heading', { level: 1, name: 'Routes' }));
  await page.keyboard.press('/');
  expect(await inPage(page, `document.activeElement.getAttribute('aria-label')`)).toBe('URL or path');
  await page.keyboard.press('6');
  expect(await page.getByRole('textbox', { name: 'URL or path' }).inputValue()).toBe('6');

  await page.getByRole('link', { name: 'Overview' }).focus();
  for (let steps = 0; steps < 5; steps++) await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Flags');
  expect(await inPage(page, `getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid');
  await page.keyboard.press('Enter');
  await expectShown(page.getByRole('switch', { name: 'greeting' }));
  const role = `document.activeElement.getAttribute('role')`;
  while ((await inPage(page, role)) !== 'switch') await page.keyboard.press('Tab');
  const written = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.keyboard.press('Space');
  await written;
  expect((await browser.gw.fetch('/greeting')).body).toBe('1');
});
