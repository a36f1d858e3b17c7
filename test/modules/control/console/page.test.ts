import { expect, test } from 'vitest';
import { wholeFile } from '../../../harness/owner.ts';
import { redis } from '../../../harness/redis.ts';
import { conf, ConsoleBrowser, expectGone, expectInPage, expectShown, inPage } from './console-browser.ts';

const browser = new ConsoleBrowser(wholeFile());

const publish = async (path: string, event: object): Promise<void> => {
  const headers = { 'Content-Type': 'application/json', 'X-Publish-Key': 'hush-hush' };
  await browser.gw.expect(`POST ${path}`, { status: 200 }, { headers, body: JSON.stringify(event) });
};

test('the overview shows the requests of each location', async (t) => {
  const page = await browser.look(t, 'overview');
  await browser.gw.fetch('/greeting');
  const row = page.getByRole('row', { name: '= /greeting' });
  await expectShown(row.getByText('just now'));
  await expectShown(row.getByRole('img', { name: /200 × \d/ }));
  await expectShown(page.getByText('This configuration has no upstream groups.'));
  await expectShown(page.getByText(/of \d+ in use/));
});

test('the overview draws the responses, and describes them to screen readers', async (t) => {
  const page = await browser.look(t, 'overview');
  const chart = page.getByRole('img', { name: /^Responses per second: 2xx [1-9]/ });
  const isAsked = setInterval(() => void browser.gw.fetch('/greeting'), 50);
  t.onTestFinished(() => clearInterval(isAsked));
  await expectShown(chart);
  // The colour that the legend gives to 2xx.
  await expectInPage(
    page,
    `(() => {
      const canvas = document.querySelector('.chart canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const wanted = getComputedStyle(document.querySelector('.key.ok i')).backgroundColor.match(/\\d+/g).join();
      for (let at = 0; at < data.length; at += 4) if (data.subarray(at, at + 3).join() === wanted) return true;
      return false;
    })()`,
  );
});

test('a flag that is switched in the page changes the gateway', async (t) => {
  await browser.gw.fetch('/runtime/flag/set?name=greeting&enabled=false&ttl_s=0');
  const page = await browser.look(t, 'flags');
  const control = page.getByRole('switch', { name: 'greeting' });
  for (const [state, value] of [
    ['true', '1'],
    ['false', '0'],
  ] as const) {
    const written = page.waitForResponse((response) => response.request().method() === 'POST');
    await control.click();
    expect((await written).status()).toBe(200);
    await expectShown(page.locator(`[role=switch][aria-checked=${state}]`));
    expect((await browser.gw.fetch('/greeting')).body).toBe(value);
  }
});

test('a flag that a variable depends on is shown before anybody has set it, and can be switched on', async (t) => {
  await browser.gw.fetch('/runtime/flag/set?name=greeting&enabled=true&ttl_s=0');
  const page = await browser.look(t, 'flags');
  await page.getByRole('button', { name: 'Remove greeting' }).click();
  const row = page.getByRole('row', { name: 'greeting' });
  await expectShown(row.getByText('not set yet'));
  await expectGone(page.getByRole('button', { name: 'Remove greeting' }));
  expect((await browser.gw.fetch('/greeting')).body).toBe('0');
  await row.getByRole('switch').click();
  await expectShown(row.getByText('never'));
  expect((await browser.gw.fetch('/greeting')).body).toBe('1');
});

test('a flag is added, rolled out and removed in the page', async (t) => {
  const page = await browser.look(t, 'flags');
  await page.getByRole('textbox', { name: 'Name of the flag' }).fill('new_one');
  await page.getByRole('spinbutton', { name: 'Rollout in percent' }).fill('40');
  await page.getByRole('button', { name: 'Set' }).click();
  const slider = page.getByRole('slider', { name: 'Rollout of new_one in percent' });
  await expectShown(slider);
  await browser.gw.expect('GET /runtime/flag?name=new_one', {
    status: 200,
    json: { status: 'ok', name: 'new_one', enabled: 'true', rollout_pct: '40', ttl_s: '0' },
  });
  const written = page.waitForResponse((response) => response.request().method() === 'POST');
  await slider.press('ArrowRight');
  await written;
  expect(JSON.parse((await browser.gw.fetch('/runtime/flag?name=new_one')).body)).toMatchObject({
    rollout_pct: '41',
  });
  await page.getByRole('button', { name: 'Remove new_one' }).click();
  await expectGone(slider);
  expect((await browser.gw.fetch('/runtime/flag?name=new_one')).body).toContain('flag not found');
});

test('a published event shows without a reload, and the channel filters', async (t) => {
  const page = await browser.look(t, 'events');
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

test('the URL tester marks the location that serves the request', async (t) => {
  const page = await browser.look(t, 'routes');
  await page.getByRole('textbox', { name: 'URL or path' }).fill('GET /kv/x?y=1');
  await page.keyboard.press('Enter');
  await expectShown(page.locator('.steps').getByText('return'));
  expect(await page.locator('tr.found code').first().textContent()).toBe('~ ^/kv/(?<key>.+)$');
});

test('the configuration shows each finding beside its line, and no secrets', async (t) => {
  const page = await browser.look(t, 'config');
  const note = page.getByRole('note');
  expect(await note.textContent()).toMatch(/^warn conflicting server name "here"/);
  expect(await page.locator('.code-line.found').textContent()).toContain('server_name here; return 204;');
  expect(await page.content()).not.toContain('hush-hush');
});

test('the log shows requests as they come, with their secrets masked', async (t) => {
  const page = await browser.look(t, 'log');
  await browser.gw.fetch('/greeting?token=abcdef&n=1');
  await expectShown(page.getByText('/greeting?token=***&n=1'));
  await page.getByRole('radio', { name: 'Error log' }).check();
  await expectShown(page.getByText('start worker processes'));
  await expectGone(page.getByText('/greeting?token'));
});

test('the log shows failures alone if one wants no more, even those of a busy second', async (t) => {
  const page = await browser.look(t, 'log');
  await Promise.all(Array.from({ length: 100 }, () => browser.gw.fetch('/greeting?busy')));
  await browser.gw.fetch('/broken?n=1');
  await expectShown(page.getByText('/greeting?busy').first());
  await page.getByRole('radio', { name: 'Status ≥ 500' }).check();
  await expectShown(page.getByText('/broken?n=1'));
  expect(await page.getByText('/greeting?busy').count()).toBe(0);
});

test('the overview lists what fails first, and other times can be chosen', async (t) => {
  await browser.gw.fetch('/broken');
  const page = await browser.look(t, 'overview');
  const failing = page.getByRole('region', { name: 'Failing locations' });
  await expectShown(failing.getByRole('row', { name: /^= \/broken here 100 % \d+ of \d+ since \d\d:/ }));
  const asked = page.waitForResponse((response) => response.url().includes('range=6h'));
  await page.getByRole('radio', { name: '6 h' }).check();
  expect((await asked).status()).toBe(200);
  await expectShown(failing.getByText('the last 6 hours'));
  await page.reload();
  expect(await page.getByRole('radio', { name: '6 h' }).isChecked()).toBe(true);
  await expectShown(failing.getByText('the last 6 hours'));
});

test('tables and functions can be tried in the page', async (t) => {
  const page = await browser.look(t, 'data');
  await page.getByRole('button', { name: 'fruit' }).click();
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption('ripe');
  await page.getByRole('combobox', { name: 'Operator' }).selectOption('is');
  await page.getByRole('textbox', { name: 'Value' }).fill('false');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByRole('row', { name: '2 pear false' }));
  await page.getByRole('radio', { name: 'JSON' }).check();
  await expectShown(page.getByLabel('Response').getByText('"pear"'));
  expect(await page.getByLabel('The call as code').textContent()).toBe(
    `curl '${browser.gw.url}/rest/fruit?ripe=is.false&limit=10'`,
  );
  await page.getByRole('combobox', { name: 'Method' }).selectOption('POST');
  await page.getByRole('textbox', { name: 'Body as JSON' }).fill('{"id":3,"name":"plum"}');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByRole('row', { name: '3 plum null' }));
  await page.getByRole('button', { name: /^add\b/ }).click();
  await page.getByRole('textbox', { name: 'a', exact: true }).fill('2');
  await page.getByRole('textbox', { name: 'b', exact: true }).fill('3');
  await page.getByRole('button', { name: 'Send' }).click();
  await expectShown(page.getByLabel('Response').getByText('5', { exact: true }));
});

test('the rows of a table are sorted by a column', async (t) => {
  const page = await browser.look(t, 'data');
  await page.getByRole('button', { name: 'fruit' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  const names = page.getByLabel('Response').locator('tbody td:nth-child(2)');
  await expectShown(page.getByRole('cell', { name: 'apple' }));
  await page.getByRole('button', { name: 'Sort by name' }).click();
  await expectShown(
    page.getByRole('columnheader', { name: 'Sort by name' }).and(page.locator('[aria-sort=ascending]')),
  );
  await page.getByRole('button', { name: 'Sort by name' }).click();
  await expectShown(page.locator('[aria-sort=descending]'));
  const shown = await names.allTextContents();
  expect(shown).toEqual(shown.toSorted().toReversed());
  expect(await page.getByLabel('The call as code').textContent()).toContain('order=name.desc');
});

test('the overview shows a refused reload until a later one succeeds', async (t) => {
  const page = await browser.look(t, 'overview');
  expect(await browser.gw.reload(conf(browser.dsn, 'nonsense;'))).toBe('refused');
  await expectShown(page.getByText('The last reload was refused'));
  expect(await browser.gw.reload(conf(browser.dsn))).toBe('done');
  await expectGone(page.getByText('The last reload was refused'));
  await expectShown(page.getByText('configuration 2'));
});

test('the overview shows the requests that failed while a database was away', async (t) => {
  const page = await browser.look(t, 'overview');
  const away = `server { server_name away; location / { dbrest_pass postgresql://anon@127.0.0.1:1/gone; dbrest_anon_role anon; } }`;
  expect(await browser.gw.reload(conf(browser.dsn, away))).toBe('done');
  for (const _ of [1, 2])
    expect((await browser.gw.fetch('/items', { headers: { Host: 'away' } })).status).toBe(503);
  await expectShown(page.getByText(/ · 2 requests failed while it was away$/));
  expect(await browser.gw.reload(conf(browser.dsn))).toBe('done');
});

test('a cluster is shown with its nodes, its streams and its store, if the configuration has one', async (t) => {
  const store = await redis('--databases', '14');
  const page = await browser.look(t, 'overview');
  const link = page.getByRole('link', { name: 'Cluster' });
  await link.waitFor({ state: 'hidden' });
  const more = `
    cluster main { backend ${store.url}; node_id gw-a; secret "0123456789abcdef"; heartbeat 100ms; timeout 100ms; }
    server { server_name shared; location / {
      worker_events_api; worker_events_zone talk cluster=main; worker_events_channel all; } }`;
  expect(await browser.gw.reload(conf(browser.dsn, more))).toBe('done');
  await link.click();
  const main = page.getByRole('region', { name: 'Cluster main', exact: true });
  await expectShown(main.getByRole('row', { name: /^gw-a this gateway \d+\.\d+\.\d+\S* just now$/ }));
  await expectShown(main.getByRole('row', { name: 'ev:talk events of talk 0 none 0' }));
  // The names of nodes are chosen by whoever can write into the store.
  const hostile = '<img src=x onerror="document.title=1">';
  const facts = JSON.stringify({ version: '<b>9</b>', differs: ['ev:talk'] });
  await store.client.hset('gw:{gw:nodes}:f', hostile, `i ${facts}`);
  await store.client.zadd('gw:{gw:nodes}', Date.now() + 60_000, hostile);
  await expectShown(main.getByRole('row', { name: `${hostile} <b>9</b> just now` }));
  await expectShown(main.getByText(`Node ${hostile} has other parameters for events of talk`));
  await store.stop('SIGKILL');
  await expectShown(main.getByText('down', { exact: true }));
  await expectShown(main.getByText(/^The store cannot be used: .*127\.0\.0\.1/));
});
