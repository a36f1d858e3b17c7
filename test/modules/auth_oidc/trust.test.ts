import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { Certificates } from '../../harness/certificates.ts';
import { startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';
import { FakeProvider } from './provider.ts';
import { block, SITE } from './site.ts';
import { PAGE } from './visitor.ts';

const certificates = new Certificates();
certificates.authority('ca');
certificates.signed('provider', 'ca', { names: ['localhost'] });
certificates.authority('other');
certificates.revoke('ca', 'provider');

/** Starts a provider behind TLS. */
async function startSecure(t: Owner): Promise<FakeProvider> {
  const key = certificates.read('provider.key');
  const server = createServer({ key, cert: certificates.read('provider.crt') }, (request, response) => {
    void provider.serve(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const provider = new FakeProvider({
    origin: `https://localhost:${port}`,
    requests: [],
    die: async () => undefined,
    revive: async () => undefined,
  });
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return provider;
}

const cases = [
  { it: 'that a configured authority has signed', trust: 'ssl_trusted_certificate ca.crt;', status: 302 },
  { it: 'that nobody known has signed', trust: '', status: 503, why: /unable to verify|self[- ]signed/ },
  {
    it: 'of another authority',
    trust: 'ssl_trusted_certificate other.crt;',
    status: 503,
    why: /unable to verify|self[- ]signed/,
  },
  {
    it: 'that has been revoked',
    trust: 'ssl_trusted_certificate ca.crt; ssl_crl ca.crl;',
    status: 503,
    why: /certificate revoked/,
  },
];

for (const { it, trust, status, why } of cases)
  test(`a provider with a certificate ${it}: ${status}`, async (t) => {
    const provider = await startSecure(t);
    const files = Object.fromEntries(
      ['ca.crt', 'other.crt', 'ca.crl'].map((name) => [name, certificates.read(name)]),
    );
    const gw = await startGateway(t, `${block(provider, trust)} ${SITE}`, { files });
    expect((await gw.fetch('/', { headers: PAGE })).status).toBe(status);
    if (why) await gw.waitForLog(why);
  });

const inside = [
  'jwks_uri',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'end_session_endpoint',
];

for (const name of inside)
  test(`a provider elsewhere cannot name a program of this machine as "${name}"`, async (t) => {
    const provider = await startSecure(t);
    const asked: string[] = [];
    const peer = await startPeer(t, 'inside', (request, response) => {
      asked.push(request.url ?? '');
      response.end('{"keys":[]}');
    });
    provider.metadata = { [name]: `http://127.0.0.1:${peer.port}/admin` };
    const gw = await startGateway(t, `${block(provider, 'ssl_trusted_certificate ca.crt;')} ${SITE}`, {
      files: { 'ca.crt': certificates.read('ca.crt') },
    });
    expect((await gw.fetch('/', { headers: PAGE })).status).toBe(503);
    await gw.waitForLog(new RegExp(`nobody can log in at "idp": .*"${name}"`));
    expect(asked).toEqual([]);
  });
