import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Gateway } from './gateway.ts';
import type { Owner } from './owner.ts';
import { service } from './services.ts';

/** JavaScript as text: code that runs in the page has other types than the tests. */
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) => {
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI);
});`;

/** Starts a real Chromium without a window; it is closed with its owner. Throws the command that installs it. */
export async function startBrowser(t: Owner): Promise<Browser> {
  // Chromium refuses root with its sandbox; the pages are our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const { program } = await service('chromium');
  const browser = await chromium.launch({ executablePath: program, args });
  t.onTestFinished(() => browser.close());
  return browser;
}

/** A page and its errors. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console, violations of the policy, requests to other origins, failed requests. */
  readonly faults: readonly string[];
}

/** Opens a page of the gateway in a browser profile of its own. */
export async function openPage(
  browser: Browser,
  { gw, path, ...options }: BrowserContextOptions & { readonly gw: Gateway; readonly path: string },
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${gw.url}/`) && !url.startsWith('data:')) faults.push(`request to ${url}`);
  });
  await page.addInitScript({ content: REPORT_VIOLATIONS });
  await page.goto(`${gw.url}${path}`);
  return { page, faults };
}
