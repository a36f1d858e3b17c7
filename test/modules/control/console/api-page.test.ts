import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { wholeFile } from '../../../harness/owner.ts';
import { ConsoleBrowser, expectShown } from './console-browser.ts';

const browser = new ConsoleBrowser(wholeFile());

/** Chooses a table or function, and waits for its form. */
async function choose(page: Page, resource: RegExp): Promise<void> {
  await page.getByRole('button', { name: resource }).click();
  await expectShown(page.getByRole('textbox', { name: 'Path' }));
}

const tryIt = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Try, then roll back' }).click();

test('a request is tried as the chosen role with its claims', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^diary/);
  await page.getByLabel('Role').selectOption('web_user');
  await page.getByLabel('Claims as JSON').fill('{"sub":"ann"}');
  await tryIt(page);
  await expectShown(page.getByLabel('Response', { exact: true }).getByText('"owner": "ann"'));
  expect(await page.getByLabel('Response', { exact: true }).textContent()).not.toContain('bob');
  await expectShown(page.getByText('row security applies', { exact: true }));
  await expectShown(page.getByText(/^using .*request\.jwt\.claims/));
  await expectShown(page.getByLabel('Plan').getByText(/actual/));
});

test('the page says why a response is empty', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^diary/);
  await tryIt(page);
  await expectShown(page.getByText(/no permissive policy is for anon and SELECT/));
});

test('a tried insert shows its row, and leaves none', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^fruit/);
  await page.getByLabel('Method').selectOption('POST');
  await page.getByLabel('Body').fill('{"id":77,"name":"<b>plum</b>"}');
  await tryIt(page);
  await expectShown(page.getByLabel('Response', { exact: true }).getByText('<b>plum</b>'));
  expect((await browser.gw.fetch('/rest/fruit?id=eq.77')).body).toBe('[]');
});

test('a request that is only explained has a plan and no response', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^fruit/);
  await page.getByRole('button', { name: 'Explain' }).click();
  await expectShown(page.getByLabel('Plan'));
  expect(await page.getByLabel('Plan').textContent()).not.toContain('actual');
  expect(await page.getByRole('heading', { name: 'Response' }).count()).toBe(0);
});

test('a privilege that is missing is shown with the statement that would grant it', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^fruit/);
  await page.getByLabel('Method').selectOption('DELETE');
  await tryIt(page);
  await expectShown(page.getByText('anon has no DELETE on public.fruit'));
  await expectShown(page.getByText('grant delete on public.fruit to "anon"'));
});

test('claims that are no JSON are refused before anything is sent', async (t) => {
  const page = await browser.look(t, 'api');
  await choose(page, /^fruit/);
  await page.getByLabel('Claims as JSON').fill('{');
  await tryIt(page);
  await expectShown(page.getByRole('alert').getByText('the claims are not valid JSON'));
});

test('the tenth page opens with the key 0, and with no blank', async (t) => {
  const page = await browser.look(t, 'overview');
  await page.keyboard.press('Space');
  await expectShown(page.getByRole('heading', { level: 1, name: 'Overview' }));
  await page.keyboard.press('0');
  await expectShown(page.getByRole('heading', { level: 1, name: 'API' }));
});
