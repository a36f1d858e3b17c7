import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { firstAsProgram } from '../../cli/in-process.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { CallInit } from '../../harness/http.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';
import { perTier } from '../../harness/tier.ts';

const gw = firstAsProgram();

interface NamedPeer extends TestPeer {
  readonly address: string;
  /** The body of its responses. */
  name: string;
}

/** Starts a peer that takes up to 20 ms for a response. */
async function startSlow(t: Owner, name: string): Promise<NamedPeer> {
  let nth = 0;
  const peer = await startPeer(t, name, (_, response) => {
    const { name: body } = named;
    setTimeout(() => response.end(body), nth++ % 20);
  });
  const named = Object.assign(peer, { name, address: `127.0.0.1:${peer.port}` });
  return named;
}

const PAUSE_MS = perTier({ short: 10, long: 0 });

/** Sends requests in some lanes until it is told to stop. */
function startLoad(lanes: number, send: () => Promise<void>): () => Promise<void> {
  let over = false;
  const lane = async (): Promise<void> => {
    while (!over) {
      await send();
      if (PAUSE_MS > 0) await sleep(PAUSE_MS);
    }
  };
  const running = Array.from({ length: lanes }, lane);
  return async () => {
    over = true;
    await Promise.all(running);
  };
}

const confOf = (peers: readonly NamedPeer[], proxy = ''): string =>
  `upstream app { ${peers.map(({ address }) => `server ${address};`).join(' ')} keepalive 16; dynamic_upstreams_managed; }
   server {
     location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; ${proxy} }
     location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; }
   }`;

const deploys: readonly { readonly it: string; readonly proxy: string; readonly init: CallInit }[] = [
  { it: 'requests', proxy: '', init: {} },
  { it: 'requests that are never tried twice', proxy: 'proxy_next_upstream off;', init: {} },
  {
    it: 'requests with bodies, which are not repeated',
    proxy: '',
    init: { method: 'POST', body: 'x'.repeat(20_000) },
  },
];

for (const { it, proxy, init } of perTier({ short: deploys.slice(-1), long: deploys })) {
  test(`a rolling deploy with "gw upstream" loses none of the ${it}`, { timeout: 60_000 }, async (t) => {
    const peers = await Promise.all(['v1', 'v1', 'v1'].map((name) => startSlow(t, name)));
    const gateway = await startGateway(t, confOf(peers, proxy), { workers: 2 });
    const upstream = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await gw(gateway.dir, ['upstream', ...args, '-c', 'gw.conf']);
      expect([code, stderr]).toEqual([0, '']);
      return stdout;
    };
    const activeOf = async (address: string): Promise<number | undefined> => {
      const [group] = JSON.parse(await upstream('list', 'app', '--json')) as readonly GroupState[];
      return group?.peers.find((peer) => peer.address === address)?.active_requests;
    };
    const seen = new Map<string, number>();
    const stop = startLoad(12, async () => {
      const { status, body } = await gateway
        .fetch('/', init)
        .catch((error: unknown) => ({ status: 0, body: String(error) }));
      const what = status === 200 ? body : `${status} ${body}`;
      seen.set(what, (seen.get(what) ?? 0) + 1);
    });
    for (const peer of peers) {
      const { address } = peer;
      await upstream('drain', 'app', address);
      await expect.poll(() => activeOf(address), { timeout: 20_000, interval: 10 }).toBe(0);
      const before = peer.requests.length;
      await peer.die();
      peer.name = 'v2';
      await peer.revive();
      await upstream('undrain', 'app', address);
      await expect.poll(() => peer.requests.length, { timeout: 20_000 }).toBeGreaterThan(before);
    }
    await stop();
    expect([...seen.keys()].toSorted((a, b) => a.localeCompare(b))).toEqual(['v1', 'v2']);
    expect((await gateway.fetch('/', init)).body).toBe('v2');
  });
}

interface GroupState {
  readonly generation: number;
  readonly peers: readonly { readonly address: string; readonly active_requests: number }[];
}

/** The peers that may serve a request after each change. */
class Generations {
  readonly #sets: string[][] = [];
  #confirmed = 0;

  constructor(first: readonly string[]) {
    this.#sets.push([...first]);
  }

  /** Makes a change; until its response, peers of both sets may serve. */
  async change(next: readonly string[], act: () => Promise<unknown>): Promise<void> {
    this.#sets.push([...next]);
    await act();
    this.#confirmed = this.#sets.length - 1;
  }

  get current(): readonly string[] {
    return this.#sets.at(-1) ?? [];
  }

  /** Begins a request. Returns the function that tells at its end whether this peer may have served it. */
  begin(): (name: string) => boolean {
    const from = this.#confirmed;
    return (name) => this.#sets.slice(from).some((set) => set.includes(name));
  }
}

const ROUNDS = perTier({ short: 25, long: 100 });

test(
  `with 4 workers, ${ROUNDS} times PUT, PATCH and drain under load cost no request and no pick leaves its generation`,
  {
    timeout: 120_000,
  },
  async (t) => {
    const peers = await Promise.all([...'abcdef'].map((name) => startSlow(t, name)));
    const gateway = await startGateway(t, confOf(peers.slice(0, 1), 'proxy_next_upstream off;'), {
      workers: 4,
    });
    const addressOf = (name: string): string => peers.find((peer) => peer.name === name)?.address ?? '';
    const generations = new Generations(['a']);
    const write = writerOf(gateway);
    const faults: string[] = [];
    let served = 0;
    const stop = startLoad(24, async () => {
      const mayServe = generations.begin();
      const { status, body } = await gateway.fetch('/');
      served++;
      if (status !== 200 || !mayServe(body)) faults.push(`${status} ${body}`);
    });
    const names = peers.map(({ name }) => name);
    for (let nth = 0; nth < ROUNDS; nth++) {
      const [first = '', second = '', third = ''] = [0, 1, 3].map(
        (step) => names[(nth + step) % names.length],
      );
      const peersOf = (...some: readonly string[]): object[] =>
        some.map((name) => ({ address: addressOf(name) }));
      await generations.change([first, second], () => write('PUT', { peers: peersOf(first, second) }));
      await generations.change([second, third], () =>
        write('PATCH', { add: peersOf(third), remove: [addressOf(first)] }),
      );
      await generations.change([third], () => write('PATCH', { drain: addressOf(second) }));
      await generations.change([second, third], () => write('PATCH', { undrain: addressOf(second) }));
    }
    await stop();
    expect(faults).toEqual([]);
    expect(served).toBeGreaterThan(4 * ROUNDS);
    const shown = JSON.parse((await gateway.fetch('/app')).body) as GroupState;
    expect(shown.generation).toBe(2 * ROUNDS);
    expect(shown.peers.map(({ active_requests: active }) => active)).toEqual([0, 0]);
  },
);

/** Returns the function that sends a change, which has to succeed. */
function writerOf(gateway: Gateway): (method: string, change: object) => Promise<void> {
  return async (method, change) => {
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify(change);
    await gateway.expect(`${method} /app`, { status: 200 }, { headers, body });
  };
}
