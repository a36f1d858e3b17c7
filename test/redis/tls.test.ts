import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, test, type TestContext } from 'vitest';
import { dial } from '../../src/redis/dial.ts';
import type { Endpoint } from '../../src/redis/index.ts';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';

/** A server for `store.test` whose certificate an authority of its own has signed; it tells who a client says it is. */
async function tlsServer(
  t: TestContext,
): Promise<{ port: number; certificates: Certificates; clients: string[] }> {
  const certificates = new Certificates();
  certificates.authority('authority');
  certificates.signed('store', 'authority', { names: ['store.test'] });
  certificates.signed('gw', 'authority');
  const clients: string[] = [];
  const server = createServer(
    {
      cert: certificates.read('store.crt'),
      key: certificates.read('store.key'),
      ca: certificates.read('authority.crt'),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (socket) => {
      const { subject } = socket.getPeerCertificate();
      clients.push(`${String(socket.servername || 'no name')} ${String(subject?.CN ?? 'nobody')}`);
      socket.on('error', () => undefined).end();
    },
  ).on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, certificates, clients };
}

test.runIf(HAS_OPENSSL)('an endpoint says whom it trusts, by what name, and who it is', async (t) => {
  const { port, certificates, clients } = await tlsServer(t);
  const ca = certificates.read('authority.crt');
  const own = { cert: certificates.read('gw.crt'), key: certificates.read('gw.key') };
  const connected = async (more: Partial<Endpoint>): Promise<string> => {
    const at = { kind: 'inet', host: '127.0.0.1', port, tls: true, ...more } as Endpoint;
    const socket = dial(at, () => undefined);
    try {
      await once(socket, 'secureConnect');
      await once(socket.resume(), 'end');
      return clients.pop() ?? '';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? '';
    } finally {
      socket.destroy();
    }
  };
  expect(await connected({ ca, servername: 'store.test' })).toBe('store.test nobody');
  expect(await connected({ ca, servername: 'store.test', ...own })).toBe('store.test gw');
  expect(await connected({ ca, servername: 'other.test' })).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await connected({ ca })).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  // An address as a name is checked, but not sent.
  expect(await connected({ ca, host: 'localhost', servername: '127.0.0.2' })).toBe(
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  expect(await connected({ servername: 'store.test' })).toBe('SELF_SIGNED_CERT_IN_CHAIN');
  expect(await connected({ servername: 'store.test', verify: false })).toBe('store.test nobody');
  expect(await connected({ verify: false })).toBe('no name nobody');
});
