import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { IS_LONG, perTier } from '../../../harness/tier.ts';
import { type Origin, startOrigin } from './origin.ts';

/*
 * Clients read, change and purge some pages at once. A page has a version, which all of its body repeats, so that a
 * mixture of two versions, pages or variants is found. After the response to a purge, no version from before its change
 * is served any more.
 */

const PAGES = 60;
const LOAD = perTier({
  short: { calls: 2_000, ms: Number.POSITIVE_INFINITY },
  long: { calls: Number.POSITIVE_INFINITY, ms: 3_600_000 },
});
const LANES = 48;
const KINDS = ['', 'a', 'b'];

/** The current version of a page at the origin, and the version when its last purge was complete. */
interface Page {
  version: number;
  purged: number;
  isChanging: boolean;
}

const sizeOf = (page: number): number => [0, 10, 900, 20_000, 70_000, 300_000][page % 6] as number;

function bodyOf(page: number, version: number, kind: string): Buffer {
  const line = `${page} ${version} ${kind}\n`;
  return Buffer.alloc(sizeOf(page), line);
}

const variesOn = (page: number): boolean => page % 5 === 0;

/** `cut`: the share of responses that break off. */
function respondAs(pages: readonly Page[], cut: number): Origin['respond'] {
  return (incoming: IncomingMessage, response: ServerResponse) => {
    const page = Number(incoming.url?.slice(1));
    const { version } = pages[page] as Page;
    const kind = variesOn(page) ? String(incoming.headers['x-kind'] ?? '') : '';
    const body = bodyOf(page, version, kind);
    const etag = `"${page}-${version}-${kind}"`;
    response.setHeader('Cache-Control', page % 7 === 0 ? 'max-age=1' : 'max-age=3600');
    response.setHeader('ETag', etag).setHeader('Accept-Ranges', 'bytes');
    if (variesOn(page)) response.setHeader('Vary', 'X-Kind');
    if (incoming.headers['if-none-match'] === etag) return void response.writeHead(304).end();
    response.setHeader('X-Version', version).setHeader('Content-Length', body.length);
    const isCut = body.length > 0 && Math.random() < cut;
    setTimeout(
      () => (isCut ? response.write(body.subarray(0, -1), () => response.destroy()) : response.end(body)),
      Math.random() * 4,
    );
  };
}

/** A response, or nothing if its connection broke. */
interface ReceivedResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function ask(
  gw: Gateway,
  path: string,
  {
    headers,
    agent,
    isImpatient = false,
  }: { headers: Record<string, string>; agent: Agent; isImpatient?: boolean },
): Promise<ReceivedResponse | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(`${gw.url}${path}`, { headers, agent }, (response) => {
      if (isImpatient) {
        outgoing.destroy();
        return resolve(undefined);
      }
      buffer(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        () => resolve(undefined),
      );
    });
    outgoing.on('error', () => resolve(undefined)).end();
  });
}

/** Returns the fault of a response, if any. */
function faultOf(answer: ReceivedResponse, { page, kind, least, range }: PageRequest): string | undefined {
  const { status, headers, body } = answer;
  const version = Number(headers['x-version'] ?? /-(\d+)-/.exec(String(headers.etag))?.[1]);
  if (version < least) return `page ${page}: version ${version} after the purge of ${least - 1}`;
  const whole = bodyOf(page, version, variesOn(page) ? kind : '');
  if (status === 304) return undefined;
  if (status === 416) return whole.length === 0 ? undefined : `page ${page}: 416`;
  const [from, to] = status === 206 && range ? range : [0, whole.length];
  if (status !== 200 && status !== 206) return `page ${page}: status ${status}`;
  return body.equals(whole.subarray(from, to)) ? undefined : `page ${page}: a wrong body, version ${version}`;
}

interface PageRequest {
  readonly page: number;
  readonly kind: string;
  /** The oldest version that may be served. */
  readonly least: number;
  readonly range: readonly [from: number, to: number] | undefined;
}

/** The clients of a gateway: lanes that each send one request after the other. */
class Storm {
  readonly faults: string[] = [];
  /** Responses by their `X-Cache`. */
  readonly seen = new Map<string, number>();
  readonly #gw: Gateway;
  readonly #pages: readonly Page[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: LANES });
  readonly #until = performance.now() + LOAD.ms;
  #calls = 0;

  constructor(gw: Gateway, pages: readonly Page[]) {
    this.#gw = gw;
    this.#pages = pages;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane()));
    this.#agent.destroy();
  }

  async #lane(): Promise<void> {
    while (this.#calls++ < LOAD.calls && performance.now() < this.#until && this.faults.length === 0) {
      // Some pages are requested much more often than others.
      const nth = Math.floor(PAGES * Math.random() ** 2);
      const page = this.#pages[nth] as Page;
      if (Math.random() < 0.03 && !page.isChanging) await this.#change(page, nth);
      await this.#read(nth, page);
    }
  }

  async #change(page: Page, nth: number): Promise<void> {
    page.isChanging = true;
    const version = ++page.version;
    const options = { headers: { 'X-Purge': '1' }, agent: this.#agent };
    const purged = await ask(this.#gw, `/${nth}`, options);
    if (purged?.status === 204 || purged?.status === 404) page.purged = version;
    else this.faults.push(`purge of page ${nth}: ${purged?.status}`);
    page.isChanging = false;
  }

  async #read(nth: number, { purged, version }: Page): Promise<void> {
    const call = this.#calls;
    const kind = KINDS[call % KINDS.length] as string;
    const size = sizeOf(nth);
    const from = Math.floor(Math.random() * size);
    const range = call % 11 === 0 && size > 0 ? ([from, size] as const) : undefined;
    const headers = {
      ...(kind !== '' && { 'X-Kind': kind }),
      ...(range && { Range: `bytes=${from}-` }),
      ...(call % 13 === 0 && { 'If-None-Match': `"${nth}-${version}-${variesOn(nth) ? kind : ''}"` }),
    };
    const isImpatient = call % 53 === 0;
    const answer = await ask(this.#gw, `/${nth}`, { headers, agent: this.#agent, isImpatient });
    if (!answer) return;
    const state = String(answer.headers['x-cache']);
    this.seen.set(state, (this.seen.get(state) ?? 0) + 1);
    const fault = faultOf(answer, { page: nth, kind, least: purged, range });
    if (fault !== undefined) this.faults.push(`${fault} (${state})`);
  }
}

const HOW_LONG = perTier({ short: `${LOAD.calls} times`, long: 'for an hour' });

test(`read, changed and purged ${HOW_LONG}: no wrong body, and nothing from before a purge`, async (t) => {
  const pages = Array.from({ length: PAGES }, (): Page => ({ version: 1, purged: 1, isChanging: false }));
  const origin = await startOrigin(t);
  origin.respond = respondAs(pages, 0.01);
  const gw = await startGateway(
    t,
    `proxy_cache_path cache keys_zone=one:1m levels=1:2 max_size=3m manager_sleep=10ms;
     server { location / {
       proxy_cache one; proxy_cache_key $uri; proxy_cache_purge $http_x_purge; proxy_cache_lock on;
       proxy_cache_revalidate on; proxy_cache_background_update on; proxy_cache_use_stale updating;
       add_header X-Cache $upstream_cache_status always;
       proxy_pass http://127.0.0.1:${origin.port};
     } }`,
    { workers: 4 },
  );
  const storm = new Storm(gw, pages);
  await storm.run();
  expect(storm.faults).toEqual([]);
  if (IS_LONG) console.info(Object.fromEntries(storm.seen));
  expect([...storm.seen.keys()]).toEqual(expect.arrayContaining(['HIT', 'MISS']));
  origin.respond = respondAs(pages, 0);
  // A lock that was not released would block one of these.
  for (const nth of pages.keys()) expect((await gw.fetch(`/${nth}`)).status).toBe(200);
}, 4_000_000);
