import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { AcmeAuthority } from '../../harness/acme-authority.ts';
import { HAS_OPENSSL } from '../../harness/certificates.ts';
import { freePort } from '../../harness/ports.ts';
import { connectRaw, exchangeRaw } from '../../harness/raw.ts';
import { startOrdering } from './ordering.ts';

const run = promisify(execFile);

/** The token of a challenge that stays pending. */
async function tokenAt(authority: AcmeAuthority, type: string): Promise<string> {
  const found = (): string | undefined =>
    authority.authorizations[0]?.challenges.find((challenge) => challenge.type === type)?.token;
  await expect.poll(found).toBeDefined();
  // The gateway is ready to be asked before it accepts the challenge.
  await expect.poll(() => authority.asked.includes('challenge')).toBe(true);
  return found() ?? '';
}

const stuck = (authority: AcmeAuthority): void => void (authority.stuck = 'authorization');

for (const engine of ['uws', 'node'])
  test(`a known token is answered before anything else of the site on the ${engine} engine`, async (t) => {
    const [redirecting, guarded] = [await freePort(), await freePort()];
    const { authority, ports } = await startOrdering(t, {
      main: `http_engine ${engine};`,
      prepare: stuck,
      http: `limit_req_zone $server_name zone=all:1m rate=1r/m;
        server { listen 127.0.0.1:${redirecting}; return 301 https://$host$request_uri; }
        server { listen 127.0.0.1:${guarded}; auth_basic closed; auth_basic_user_file users; limit_req zone=all; deny all;
          location / { return 200 site; } location ^~ /.well-known/ { return 404; } }`,
      files: { users: 'a:{PLAIN}b\n' },
    });
    const token = await tokenAt(authority, 'http-01');
    const path = `/.well-known/acme-challenge/${token}`;
    const proof = new RegExp(
      `^HTTP/1\\.1 200 [^]*content-type: text/plain[^]*\\r\\n\\r\\n${token}\\.[\\w-]{43}$`,
      'i',
    );
    for (const port of [ports.plain, redirecting, guarded, guarded, guarded])
      expect(
        await exchangeRaw(port, `GET ${path} HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n`),
      ).toMatch(proof);
    const head = await exchangeRaw(
      guarded,
      `HEAD ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`,
    );
    expect(head).toMatch(/^HTTP\/1\.1 200 [^]*content-length: [1-9]\d+\r\n[^]*\r\n\r\n$/i);
    // uWebSockets.js reads no HTTP/1.0.
    const old = await exchangeRaw(guarded, `GET ${path} HTTP/1.0\r\n\r\n`);
    expect(old).toMatch(engine === 'node' ? proof : /^HTTP\/1\.1 505 /);
    const others = [`GET ${path}x`, `POST ${path}`, `GET ${path}/`];
    for (const other of others)
      expect(
        await exchangeRaw(
          redirecting,
          `${other} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
        ),
      ).toMatch(/^HTTP\/1\.1 301 /);
  });

test.runIf(HAS_OPENSSL)(
  'openssl is shown the certificate of a challenge, and the connection ends without a response',
  async (t) => {
    const behind = await freePort();
    const { authority, ports } = await startOrdering(t, {
      issuer: 'challenge tls-alpn-01;',
      prepare: stuck,
      http: `server { listen 127.0.0.1:${behind} ssl proxy_protocol; server_name a.test; acme_certificate le; }`,
    });
    await tokenAt(authority, 'tls-alpn-01');
    const shake = async (port: number, ...more: readonly string[]): Promise<string> => {
      const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'a.test', ...more];
      const asking = run('openssl', args);
      asking.child.stdin?.end();
      const { stdout, stderr } = await asking.catch(
        (error: unknown) => error as { stdout: string; stderr: string },
      );
      return stdout + stderr;
    };
    const shown = await shake(ports.tls, '-alpn', 'acme-tls/1');
    expect(shown).toContain('ALPN protocol: acme-tls/1');
    const [pem = ''] = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/.exec(shown) ?? [];
    const child = run('openssl', ['x509', '-noout', '-text']);
    child.child.stdin?.end(pem);
    const { stdout } = await child;
    expect(stdout).toMatch(/1\.3\.6\.1\.5\.5\.7\.1\.31: critical/);
    expect(stdout).toContain('DNS:a.test');
    // Any other handshake is one for the site, which has no certificate yet.
    for (const alpn of ['http/1.1', 'http/1.1,acme-tls/1', 'acme-tls/1,h2'])
      expect(await shake(ports.tls, '-alpn', alpn)).toMatch(/alert internal error/);

    // The header comes first; then the bytes are those of a hello, of which the answer is a handshake.
    const proxied = await connectRaw(behind);
    const hello = await helloOf('a.test');
    proxied.write(Buffer.concat([Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n'), hello]));
    // A record of a handshake, with the hello of a server.
    const answer = Buffer.from(await proxied.until(/[^]{6}/), 'latin1');
    expect([answer[0], answer[5]]).toEqual([22, 2]);
    proxied.destroy();
  },
);

/** The first bytes that a client of a challenge sends. */
async function helloOf(servername: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const server = createServer((socket) =>
      socket.once('data', (bytes: Buffer) => {
        socket.destroy();
        server.close();
        resolve(bytes);
      }),
    ).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      connect({ host: '127.0.0.1', port, servername, ALPNProtocols: ['acme-tls/1'] }).on(
        'error',
        () => undefined,
      );
    });
  });
}
