import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { IS_LONG, perTier } from '../../harness/tier.ts';
import { startOrdering } from './ordering.ts';

const { names: NAMES, visitors: VISITORS } = perTier({
  short: { names: 20, visitors: 4 },
  long: { names: 1_000, visitors: 8 },
});

/** Between two visits of a visitor: the authority of the test needs its part of the machine. */
const PAUSE_MS = 25;

/** What visitors of the sites have seen. */
class Visits {
  readonly failures: string[] = [];
  readonly handshakesMs: number[] = [];
  resumed = 0;
  isOver = false;
  readonly #port: number;
  readonly #names: readonly string[];

  constructor(port: number, names: readonly string[]) {
    this.#port = port;
    this.#names = names;
  }

  /** Opens connections to random sites, one after the other, until it is over. */
  async run(protocol: 'h2' | 'http/1.1'): Promise<void> {
    while (!this.isOver) {
      await sleep(PAUSE_MS);
      const name = this.#names[Math.floor(Math.random() * this.#names.length)] ?? '';
      await this.#visit(name, protocol).catch((error: unknown) =>
        this.failures.push(`${name}: ${String(error)}`),
      );
    }
  }

  async #visit(name: string, protocol: 'h2' | 'http/1.1'): Promise<void> {
    const startMs = performance.now();
    const socket = await this.open(name, protocol);
    this.handshakesMs.push(performance.now() - startMs);
    if (socket.isSessionReused()) this.resumed++;
    const { subjectaltname } = socket.getPeerCertificate();
    if (subjectaltname !== `DNS:${name}`) throw new Error(`shows ${String(subjectaltname)}`);
    if (socket.alpnProtocol !== protocol) throw new Error(`speaks ${String(socket.alpnProtocol)}`);
    const status = protocol === 'h2' ? await statusByHttp2(socket, name) : await statusByHttp1(socket, name);
    socket.destroy();
    if (status !== 200) throw new Error(`status ${status}`);
  }

  async open(servername: string, protocol: string): Promise<TLSSocket> {
    const to = { host: '127.0.0.1', port: this.#port, servername, rejectUnauthorized: false };
    const socket = connect({ ...to, ALPNProtocols: [protocol] });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** The certificates that the sites show, by name. */
  async shown(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const name of this.#names) {
      const socket = await this.open(name, 'http/1.1');
      found.set(name, new X509Certificate(socket.getPeerCertificate().raw).fingerprint256);
      socket.destroy();
    }
    return found;
  }
}

async function statusByHttp1(socket: TLSSocket, host: string): Promise<number> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const [piece] = (await once(socket, 'data')) as [Buffer];
  return Number(piece.toString('latin1').split(' ')[1]);
}

async function statusByHttp2(socket: TLSSocket, host: string): Promise<number> {
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  try {
    const stream = session.request({ ':path': '/' });
    const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }];
    return status;
  } finally {
    session.destroy();
  }
}

const issuedLines = (gw: Gateway): number => gw.errorLog().match(/issued, valid until/g)?.length ?? 0;

/** Of the process that serves, in MB. */
function residentMb(gw: Gateway): number {
  const pages = Number(readFileSync(`/proc/${gw.pid}/statm`, 'utf8').split(' ')[1]);
  return Math.round((pages * 4_096) / 1e6);
}

const ignore = (): void => undefined;

async function lagSeconds(gw: Gateway): Promise<number> {
  const { body } = await gw.fetch('/metrics');
  const lags = [...body.matchAll(/^gw_worker_eventloop_lag_seconds\S* (\S+)$/gm)].map(([, seconds]) =>
    Number(seconds),
  );
  return Math.max(...lags);
}

/** Has all certificates renewed, and visits the sites until they are. */
async function renewed(
  gw: Gateway,
  visits: Visits,
  names: readonly string[],
): Promise<{ readonly lag: number; readonly renewedMs: number }> {
  let lag = 0;
  // A gateway that cannot be asked for metrics fails visits, too.
  const timer = setInterval(() => void lagSeconds(gw).then((one) => (lag = Math.max(lag, one)), ignore), 500);
  gw.lay(Object.fromEntries(names.map((name) => [`state/requests/renew-${name}`, ''])));
  const visitors = Array.from({ length: VISITORS }, (_, at) => visits.run(at % 2 === 0 ? 'h2' : 'http/1.1'));
  await expect.poll(() => issuedLines(gw), { timeout: 900_000, interval: 100 }).toBe(2 * NAMES + 1);
  const renewedMs = Date.now();
  visits.isOver = true;
  await Promise.all(visitors);
  clearInterval(timer);
  return { lag, renewedMs };
}

test(`${NAMES} certificates are renewed at once under load, and no handshake fails`, async (t) => {
  const names = Array.from({ length: NAMES }, (_, at) => `s${at}.test`);
  const site = (name: string): string =>
    `server { listen 127.0.0.1:PLAIN; listen 127.0.0.1:TLS ssl; http2 on; server_name ${name}; acme_certificate le; return 200 ${name}; }`;
  const startMs = Date.now();
  const { gw, authority, ports } = await startOrdering(t, {
    workers: 2,
    http: `server { listen 127.0.0.1:PLAIN; server_name 127.0.0.1; location /metrics { control_api metrics; } } ${names.map(site).join('\n')}`,
  });
  const emptyMb = residentMb(gw);
  await expect.poll(() => issuedLines(gw), { timeout: 600_000, interval: 100 }).toBe(NAMES + 1);
  const issuedMs = Date.now();
  const fullMb = residentMb(gw);
  const visits = new Visits(ports.tls, names);
  const before = await visits.shown();
  const { lag, renewedMs } = await renewed(gw, visits, names);
  const after = await visits.shown();
  const sorted = visits.handshakesMs.toSorted((one, other) => one - other);
  const part = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(1);
  if (IS_LONG)
    console.info({
      issuedSeconds: (issuedMs - startMs) / 1_000,
      renewedSeconds: (renewedMs - startMs) / 1_000,
      handshakes: sorted.length,
      handshakeMs: [0.5, 0.99, 1].map(part),
      lagSeconds: lag,
      memoryMb: { empty: emptyMb, issued: fullMb, renewed: residentMb(gw) },
    });
  expect(visits.failures).toEqual([]);
  expect(visits.resumed).toBe(0);
  expect(sorted.length).toBeGreaterThan(NAMES);
  for (const name of names) expect(after.get(name), name).not.toBe(before.get(name));
  expect(new Set(after.values()).size).toBe(NAMES);
  expect(authority.issued).toHaveLength(2 * NAMES + 1);
  expect(gw.errorLog()).not.toMatch(/\[(?:error|crit|alert)\]/);
}, 1_800_000);
