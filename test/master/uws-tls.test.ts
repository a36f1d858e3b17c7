import { rmSync } from 'node:fs';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { startGateway } from '../harness/gateway.ts';
import { freeLowPort, freePort } from '../harness/ports.ts';
import { Lanes } from './lanes.ts';
import { IS_ROOT, startAsNobody } from './rights.ts';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  for (const name of ['old', 'new', 'other']) certificates.authority(name);
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const pair = (certificate: string, key = certificate): string =>
  `ssl_certificate ${certificates.path(`${certificate}.crt`)}; ssl_certificate_key ${certificates.path(`${key}.key`)};`;

const server = (port: number, settings: string): string =>
  `server { listen 127.0.0.1:${port} ssl; ${settings} location / { return 200 ok; } }`;

/** Returns the name in the certificate that a client is shown. */
async function shownAt(port: number, servername = ''): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, servername });
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
  });
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

const TLS = { main: 'http_engine auto tls;', workers: 2 };

/** A busy machine takes seconds until the former App has no new connections. */
const SOON = { timeout: 15_000 };

/** Returns the names that clients are shown one after the other, as many as serve all workers in turn. */
async function shownInTurn(port: number): Promise<string> {
  const names: string[] = [];
  for (let nth = 0; nth < 2 * TLS.workers; nth += 1) names.push(await shownAt(port));
  return [...new Set(names)].join(' ');
}

const HAS_TLS = HAS_OPENSSL && !ON_NODE_ENGINE;

for (const { it, isLow } of [
  { it: 'a port that workers open', isLow: false },
  { it: 'a port that only root can open', isLow: true },
])
  test.runIf(HAS_TLS && (IS_ROOT || !isLow))(
    `TLS of uWebSockets.js changes the certificates of ${it} without a lost request`,
    async (t) => {
      const port = isLow ? await freeLowPort() : await freePort();
      const start = isLow ? startAsNobody : startGateway;
      const main = isLow ? `user nobody; ${TLS.main}` : TLS.main;
      const gw = await start(t, server(port, pair('old')), { ...TLS, main, port });
      const lanes = new Lanes({ port, tls: true, fresh: 3, kept: 3 });
      await lanes.responses(40);
      expect(await shownAt(port)).toBe('old');

      expect(await gw.reload(server(port, pair('new')))).toBe('done');
      await expect.poll(() => shownInTurn(port), SOON).toBe('new');
      await lanes.responses(40);

      // Another configuration with the same certificates keeps them, and one that is refused changes nothing.
      expect(await gw.reload(server(port, `${pair('new')} add_header X-A b;`))).toBe('done');
      expect(await gw.reload(server(port, pair('new', 'old')))).toBe('refused');
      expect(await gw.reload(server(port, `${pair('other')} ssl_ciphers DHE-RSA-AES128-SHA;`))).toBe(
        'refused',
      );
      expect(gw.errorLog()).toContain(
        `127.0.0.1:${port}: uWebSockets.js refuses the certificate, its key, or "ssl_ciphers"`,
      );
      await lanes.responses(40);
      expect(await shownInTurn(port)).toBe('new');

      const named = `${server(port, pair('new'))} ${server(port, `server_name other.test; ${pair('other')}`)}`;
      expect(await gw.reload(named)).toBe('done');
      await expect.poll(() => shownAt(port, 'other.test'), SOON).toBe('other');
      await lanes.responses(40);
      expect((await lanes.stop()).failures).toEqual([]);
    },
  );

test.runIf(HAS_TLS)('TLS of uWebSockets.js is neither begun nor ended by a reload', async (t) => {
  const gw = await startGateway(t, (_, port) => server(port, pair('old')), TLS);
  const another = `127.0.0.1:${gw.port} needs another engine: restart the gateway, or "gw upgrade"`;
  for (const settings of ['ssl_session_timeout 1h;', 'ssl_session_cache shared:a:1m;'])
    expect(await gw.reload(server(gw.port, `${pair('old')} ${settings}`))).toBe('refused');
  expect(await gw.reload(`server { listen 127.0.0.1:${gw.port}; return 200 ok; }`)).toBe('refused');
  expect(gw.errorLog().split(another)).toHaveLength(4);
  expect(await shownAt(gw.port)).toBe('old');
});
