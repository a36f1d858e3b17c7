import { expect, test } from 'vitest';
import { startAuthority } from '../../../harness/acme-authority.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { ConsoleBrowser, expectShown, inPage } from './console-browser.ts';

const file = wholeFile();
const FAILING = `a-customer-of-ours-with-a-very-long-name-${'x'.repeat(20)}.test`;
/** Authorities have such a URL in their faults: a phone has no line for it. */
const DETAIL = `not this one: see https://authority.test/docs/${'why_it_was_refused_'.repeat(5)}`;

async function conf(): Promise<string> {
  const [good, bad] = [
    await startAuthority(file, { validates: false }),
    await startAuthority(file, { validates: false }),
  ];
  bad.fail('newOrder', { problem: 'rejectedIdentifier', detail: DETAIL }, 100);
  const issuer = (name: string, { url }: typeof good): string =>
    `acme_issuer ${name} { uri ${url}; state_path state-${name}; accept_terms_of_service; }
     server { server_name ${name === 'good' ? 'well.test' : FAILING}; acme_certificate ${name}; }`;
  return issuer('good', good) + issuer('bad', bad);
}

const browser = new ConsoleBrowser(file, conf);

test('the overview shows when certificates end, why an order failed and when the next one is', async (t) => {
  const page = await browser.look(t, 'overview');
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Certificates' }) });
  const fact = (name: string) => card.locator('.fact', { has: page.getByText(name, { exact: true }) });
  await expectShown(fact('well.test').getByText(/^ends in (?:89|90) d/));
  await expectShown(fact('well.test').getByText(/^next order in \d\d d[^·]*$/));
  await expectShown(fact(FAILING).getByText('there is none'));
  await expectShown(
    fact(FAILING).getByText(/^next order in \d+ (?:s|min) · rejectedIdentifier "not this one: see https:/),
  );
  // What needs somebody is at the top.
  expect(await card.locator('dt').allTextContents()).toEqual([FAILING, 'well.test']);
});

test('a long fault of a certificate is broken into lines on a phone', async (t) => {
  const viewport = { width: 390, height: 844 };
  const page = await browser.look(t, 'overview', { viewport, hasTouch: true, isMobile: true });
  const fault = page.getByText(/rejectedIdentifier/);
  await expectShown(fault);
  expect(await inPage(page, 'document.documentElement.scrollWidth')).toBe(viewport.width);
  const [shown, cell] = [await fault.boundingBox(), await fault.locator('..').boundingBox()];
  expect(shown?.x).toBeGreaterThanOrEqual(cell?.x ?? Infinity);
});
