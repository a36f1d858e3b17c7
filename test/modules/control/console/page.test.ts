import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import { openPage, startBrowser } from '../../../harness/browser.ts';
import { startGateway } from '../../../harness/gateway.ts';
import type { Gateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres } from '../../../harness/postgres.ts';

const SQL = `
  create table fruit (id int primary key, name text not null, ripe boolean);
  insert into fruit values (1, 'apple', true), (2, 'pear', false);
  grant select, insert on fruit to anon;
  create function add(a int, b int) returns int language sql immutable as 'select a + b';`;

const conf = (dsn: string, more = '') => `
  shared_dict_zone zone=feature_flags:64k;
  feature_flag $greeting greeting;
  server {
    server_name here;
    location = /greeting { return 200 "$greeting"; }
    location /rest/ { dbrest_pass ${dsn}; dbrest_schemas public; dbrest_anon_role anon; }
    location = /events {
      worker_events_api; worker_events_zone bus; worker_events_channel deploys; worker_events_publish_key "hush-hush";
    }
    location = /other { worker_events_api; worker_events_zone bus; worker_events_channel noise; }
    location /kv/ { location ~ ^/kv/(?<key>.+)$ { return 200 "$key"; } }
    location /runtime/ { control_api; }
    location /_gw/ { control_console on; }
  }
  server { server_name here; return 204; }
  ${more}`;

const file = wholeFile();
let gw: Gateway;
let browser: Browser;
let dsn: string;
beforeAll(async () => {
  [{ dsn }, browser] = await Promise.all([postgres(SQL), startBrowser(file)]);
  gw = await startGateway(file, conf(dsn), { workers: 2 });
});

const VIEWS = ['overview', 'routes', 'config', 'data', 'events', 'flags', 'log'] as const;
const TITLES = ['Overview', 'Routes', 'Configuration', 'Data', 'Events', 'Flags', 'Log'];
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** A page of the console that must not leave a fault behind. */
async function look(t: TestContext, view: string, options: BrowserContextOptions = {}): Promise<Page> {
  const { page, faults } = await openPage(browser, {
    gw,
    path: `/_gw/#${view}`,
    viewport: DESKTOP,
    ...options,
  });
  t.onTestFinished(async () => {
    await page.context().close();
    expect(faults).toEqual([]);
  });
  await expectShown(page.getByText('Serving'));
  return page;
}

/** Waits until it is there, or gone: what never comes fails the test by its time. */
const expectShown = (locator: Locator): Promise<void> => locator.waitFor();
const expectGone = (locator: Locator): Promise<void> => locator.waitFor({ state: 'detached' });

/** An expression that is evaluated in the page: its code has other types than the tests. */
const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

const publish = async (path: string, event: object): Promise<void> => {
  const headers = { 'Content-Type': 'application/json', 'X-Publish-Key': 'hush-hush' };
  await gw.expect(`POST ${path}`, { status: 200 }, { headers, body: JSON.stringify(event) });
};

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
    const page = await look(t, 'overview', options);
    for (const [index, view] of VIEWS.entries()) {
      await inPage(page, `location.hash = '${view}'`);
      await expectShown(page.getByRole('heading', { level: 1, name: TITLES[index] ?? '' }));
      await expectShown(page.locator('main .card').first());
      expect([view, await inPage(page, 'document.documentElement.scrollWidth - innerWidth')]).toEqual([
        view,
        0,
      ]);
      expect(await inPage(page, 'getComputedStyle(document.body).backgroundColor')).toBe(ground);
    }
  });
}

test('the choice of colours counts more than the system, and stays', async (t) => {
  const page = await look(t, 'overview', { colorScheme: 'light' });
  await page.getByRole('radio', { name: 'Dark' }).check();
  const dark = `getComputedStyle(document.body).backgroundColor === 'rgb(12, 17, 17)'`;
  await page.waitForFunction(dark);
  await page.reload();
  await page.waitForFunction(dark);
  await page.getByRole('radio', { name: 'Auto' }).check();
  await page.waitForFunction(`!(${dark})`);
});

test('the overview tells the requests of each location', async (t) => {
  const page = await look(t, 'overview');
  await gw.fetch('/greeting');
  const row = page.getByRole('row', { name: '= /greeting' });
  await expectShown(row.getByText('just now'));
  await expectShown(row.getByRole('img', { name: /200 × \d/ }));
  await expectShown(page.getByText('This configuration has no upstream groups.'));
  await expectShown(page.getByText(/of \d+ in use/));
});

test('a flag that is switched in the page changes the gateway', async (t) => {
  await gw.fetch('/runtime/flag/set?name=greeting&enabled=false&ttl_s=0');
  const page = await look(t, 'flags');
  const control = page.getByRole('switch', { name: 'greeting' });
  for (const [state, answer] of [
    ['true', '1'],
    ['false', '0'],
  ] as const) {
    const written = page.waitForResponse((response) => response.request().method() === 'POST');
    await control.click();
    expect((await written).status()).toBe(200);
    await expectShown(page.locator(`[role=switch][aria-checked=${state}]`));
    expect((await gw.fetch('/greeting')).body).toBe(answer);
  }
});

test('a flag is added, rolled out and removed in the page', async (t) => {
  const page = await look(t, 'flags');
  await page.getByRole('textbox', { name: 'Name of the flag' }).fill('new_one');
  await page.getByRole('spinbutton', { name: 'Rollout in percent' }).fill('40');
  await page.getByRole('button', { name: 'Set' }).click();
  const slider = page.getByRole('slider', { name: 'Rollout of new_one in percent' });
  await expectShown(slider);
  await gw.expect('GET /runtime/flag?name=new_one', {
    status: 200,
    json: { status: 'ok', name: 'new_one', enabled: 'true', rollout_pct: '40', ttl_s: '0' },
  });
  const written = page.waitForResponse((response) => response.request().method() === 'POST');
  await slider.press('ArrowRight');
  await written;
  expect(JSON.parse((await gw.fetch('/runtime/flag?name=new_one')).body)).toMatchObject({
    rollout_pct: '41',
  });
  await page.getByRole('button', { name: 'Remove new_one' }).click();
  await expectGone(slider);
  expect((await gw.fetch('/runtime/flag?name=new_one')).body).toContain('flag not found');
});

test('an event that somebody publishes shows without a reload, and the channel filters', async (t) => {
  const page = await look(t, 'events');
  await inPage(page, 'window.stillHere = true');
  await publish('/events', { type: 'deployed', payload: '{"build":7}' });
  await publish('/other', { type: 'rustle' });
  await expectShown(page.getByText('deployed'));
  await expectShown(page.getByText('rustle'));
  expect(await inPage(page, 'window.stillHere')).toBe(true);
  await page.getByRole('combobox', { name: 'Channel' }).selectOption('deploys');
  await expectGone(page.getByText('rustle'));
  await page.getByText('{"build":7}').click();
  await expectShown(page.getByText('"build": 7'));
});

test('the URL tester marks the location that answers', async (t) => {
  const page = await look(t, 'routes');
  await page.getByRole('textbox', { name: 'URL or path' }).fill('GET /kv/x?y=1');
  await page.keyboard.press('Enter');
  await expectShown(page.locator('.steps').getByText('return'));
  expect(await page.locator('tr.found code').first().textContent()).toBe('~ ^/kv/(?<key>.+)$');
});

test('the configuration has its findings beside the line, and no secrets', async (t) => {
  const page = await look(t, 'config');
  const note = page.getByRole('note');
  expect(await note.textContent()).toMatch(/^warn conflicting server name "here"/);
  expect(await page.locator('.code-line.found').textContent()).toContain('server_name here; return 204;');
  expect(await page.content()).not.toContain('hush-hush');
});

test('the log shows requests as they come, with their secrets masked', async (t) => {
  const page = await look(t, 'log');
  await gw.fetch('/greeting?token=abcdef&n=1');
  await expectShown(page.getByText('/greeting?token=***&n=1'));
  await page.getByRole('radio', { name: 'Error log' }).check();
  await expectShown(page.getByText('start worker processes'));
  await expectGone(page.getByText('/greeting?token'));
});

test('tables and functions are tried in the page', async (t) => {
  const page = await look(t, 'data');
  await page.getByRole('button', { name: 'fruit' }).click();
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption('ripe');
  await page.getByRole('combobox', { name: 'Operator' }).selectOption('is');
  await page.getByRole('textbox', { name: 'Value' }).fill('false');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByLabel('Answer').getByText('"pear"'));
  expect(await page.getByLabel('The call as code').textContent()).toBe(
    `curl '${gw.url}/rest/fruit?ripe=is.false&limit=10'`,
  );
  await page.getByRole('combobox', { name: 'Method' }).selectOption('POST');
  await page.getByRole('textbox', { name: 'Body as JSON' }).fill('{"id":3,"name":"plum"}');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByLabel('Answer').getByText('"plum"'));
  await page.getByRole('button', { name: /^add\b/ }).click();
  await page.getByRole('textbox', { name: 'a', exact: true }).fill('2');
  await page.getByRole('textbox', { name: 'b', exact: true }).fill('3');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByLabel('Answer').getByText('5', { exact: true }));
});

const focused = (page: Page) => inPage<string>(page, 'document.activeElement.textContent');

test('the keyboard alone is enough', async (t) => {
  await gw.fetch('/runtime/flag/set?name=greeting&enabled=false&ttl_s=0');
  const page = await look(t, 'overview');
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
  expect((await gw.fetch('/greeting')).body).toBe('1');
});

test('a refused reload is told on the overview, until one is taken', async (t) => {
  const page = await look(t, 'overview');
  expect(await gw.reload(conf(dsn, 'nonsense;'))).toBe('refused');
  await expectShown(page.getByText('The last reload was refused'));
  expect(await gw.reload(conf(dsn))).toBe('done');
  await expectGone(page.getByText('The last reload was refused'));
  await expectShown(page.getByText('configuration 2'));
});
