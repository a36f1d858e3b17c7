import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, type TestContext } from 'vitest';
import { openPage, startBrowser } from '../../../harness/browser.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import type { Owner } from '../../../harness/owner.ts';
import { postgres } from '../../../harness/postgres.ts';

const SQL = `
  create table fruit (id int primary key, name text not null, ripe boolean);
  insert into fruit values (1, 'apple', true), (2, 'pear', false);
  grant select, insert on fruit to anon;
  create table diary (id int primary key, owner text);
  insert into diary values (1, 'ann'), (2, 'bob');
  alter table diary enable row level security;
  create policy own on diary to web_user using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
  grant select on diary to anon, web_user;
  create function add(a int, b int) returns int language sql immutable as 'select a + b';`;

/** A server with everything that the console shows; `more` goes to the end of `http`. */
export const conf = (dsn: string, more = '') => `
  shared_dict_zone zone=feature_flags:64k;
  feature_flag $greeting greeting;
  server {
    server_name here;
    location = /broken { return 503; }
    location = /greeting { return 200 "$greeting"; }
    location /rest/ { dbrest_pass ${dsn}; dbrest_schemas public; dbrest_anon_role anon; }
    location = /events {
      worker_events_api; worker_events_zone bus; worker_events_channel deploys; worker_events_publish_key "hush-hush";
    }
    location = /other { worker_events_api; worker_events_zone bus; worker_events_channel noise; }
    location /kv/ { location ~ ^/kv/(?<key>.+)$ { return 200 "$key"; } }
    location /runtime/ { control_api; }
    location /_gw/ { control_console on; control_console_api on; }
  }
  server { server_name here; return 204; }
  ${more}`;

export const DESKTOP = { width: 1280, height: 800 };

/** A gateway and a browser for all tests of a file. */
export class ConsoleBrowser {
  #gw: Gateway | undefined;
  #browser: Browser | undefined;
  dsn = '';

  /** `more` goes to the end of `http`; a function is called before the gateway starts. */
  constructor(file: Owner, more: string | (() => Promise<string>) = '') {
    beforeAll(async () => {
      const [database, browser] = await Promise.all([postgres(SQL), startBrowser(file)]);
      this.#browser = browser;
      this.dsn = database.dsn;
      this.#gw = await startGateway(file, conf(this.dsn, typeof more === 'string' ? more : await more()), {
        workers: 2,
      });
    });
  }

  get gw(): Gateway {
    return this.#gw as Gateway;
  }

  /** Opens a view of the console; the test fails when the page reports a fault. */
  async look(t: TestContext, view: string, options: BrowserContextOptions = {}): Promise<Page> {
    const { page, faults } = await openPage(this.#browser as Browser, {
      gw: this.gw,
      path: `/_gw/#${view}`,
      viewport: DESKTOP,
      ...options,
    });
    t.onTestFinished(async () => {
      await page.context().close();
      if (faults.length > 0) throw new Error(`the page left faults:\n${faults.join('\n')}`);
    });
    await expectShown(page.getByText('Serving'));
    return page;
  }
}

/** Waits until the element is there; the time limit of the test ends the wait. */
export const expectShown = (locator: Locator): Promise<void> => locator.waitFor();

/** Waits until the element is gone. */
export const expectGone = (locator: Locator): Promise<void> => locator.waitFor({ state: 'detached' });

/** Evaluates an expression in the page. It is a string because the page has other types than the tests. */
export const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

/** Waits until the expression is true in the page. */
export const expectInPage = async (page: Page, expression: string): Promise<void> => {
  await page.waitForFunction(expression);
};
