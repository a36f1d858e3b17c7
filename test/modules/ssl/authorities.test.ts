import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { type Gateway, oneGateway, type Owner } from '../../harness/gateway.ts';

const load = oneGateway();

let certificates: Certificates;

/** `below` is an authority below `ca`; both have a list of revoked certificates. */
beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.authority('elsewhere');
  certificates.signed('below', 'ca', { isAuthority: true });
  certificates.signed('gone', 'ca');
  for (const name of ['server', 'fine', 'revoked']) certificates.signed(name, 'below');
  certificates.revoke('ca', 'gone');
  certificates.revoke('below', 'revoked');
  const both = (end: string): string => certificates.read(`ca.${end}`) + certificates.read(`below.${end}`);
  certificates.write('both.crl', both('crl'));
  certificates.write(
    'twice.crt',
    certificates.read('ca.crt') + both('crt') + certificates.read('elsewhere.crt'),
  );
  for (const name of ['server', 'fine', 'revoked'])
    certificates.write(`${name}.chain`, certificates.read(`${name}.crt`) + certificates.read('below.crt'));
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const file = (name: string): string => certificates.path(name);
const pairOf = (name: string) => ({
  cert: certificates.read(`${name}.chain`),
  key: certificates.read(`${name}.key`),
});

const startTls = (t: Owner, directives: string): Promise<Gateway> =>
  load(
    t,
    (_, port) => `server { listen 127.0.0.1:${port} ssl;
      ssl_certificate ${file('server.crt')}; ssl_certificate_key ${file('server.key')};
      ${directives} return 200 $ssl_client_verify; }`,
  );

async function verified(port: number, name: string): Promise<string> {
  const asking = request({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    agent: false,
    ...pairOf(name),
  });
  asking.end();
  const [response] = (await once(asking, 'response')) as [NodeJS.ReadableStream];
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += String(text);
  return body;
}

for (const [name, said] of [
  ['fine', 'SUCCESS'],
  ['revoked', 'FAILED:certificate revoked'],
] as const) {
  test.runIf(HAS_OPENSSL)(
    `with the lists of both authorities in one file a client is "${said}"`,
    async (t) => {
      const gw = await startTls(
        t,
        `ssl_verify_client on; ssl_client_certificate ${file('ca.crt')}; ssl_crl ${file('both.crl')}; error_page 495 =200 /;`,
      );
      expect(await verified(gw.port, name)).toBe(said);
    },
  );

  test.runIf(HAS_OPENSSL)(`so is an upstream (${name})`, async (t) => {
    const server = createServer(pairOf(name), (_, response) => response.end('up'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.onTestFinished(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const gw = await load(
      t,
      `server { location / { proxy_ssl_verify on; proxy_ssl_verify_depth 2; proxy_ssl_name ${name};
         proxy_ssl_trusted_certificate ${file('ca.crt')}; proxy_ssl_crl ${file('both.crl')};
         proxy_pass https://127.0.0.1:${port}; } }`,
    );
    await gw.expect('GET /', name === 'fine' ? { status: 200, body: 'up' } : { status: 502 });
    if (name === 'revoked') await gw.waitForLog(/verify error: \(23:certificate revoked\)/);
  });
}

test.runIf(HAS_OPENSSL)('an authority that stands twice in a file is announced once', async (t) => {
  const gw = await startTls(t, `ssl_verify_client on; ssl_client_certificate ${file('twice.crt')};`);
  const said = execFileSync('openssl', ['s_client', '-connect', `127.0.0.1:${gw.port}`, '-tls1_2'], {
    input: '',
    stdio: 'pipe',
    encoding: 'utf8',
  });
  const [, names = ''] =
    /Acceptable client certificate CA names\n([^]*?)Client Certificate Types/.exec(said) ?? [];
  expect(names.trim().split('\n')).toEqual(['CN = ca', 'CN = below', 'CN = elsewhere']);
});
