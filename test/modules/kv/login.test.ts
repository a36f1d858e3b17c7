import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, type TestContext, test, vi } from 'vitest';
import { dial } from '../../../src/redis/dial.ts';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { outcomeOf, memoryLog, redisStore } from './stores.ts';

/** Starts a store over TLS with a self-signed certificate. Returns its port and the server names that clients send. */
async function tlsStore(t: TestContext): Promise<{ port: number; names: (string | undefined)[] }> {
  const certificates = new Certificates();
  certificates.authority('localhost');
  const names: (string | undefined)[] = [];
  const server = createTlsServer({
    cert: certificates.read('localhost.crt'),
    key: certificates.read('localhost.key'),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  }).on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, names };
}

test.runIf(HAS_OPENSSL)('a host over TLS gets its name in the handshake', async (t) => {
  const { port, names } = await tlsStore(t);
  for (const host of ['localhost', '127.0.0.1']) {
    const connected = vi.fn();
    const socket = dial({ kind: 'inet', host, port, tls: true }, connected);
    // Its certificate is self-signed.
    await expect(once(socket, 'secureConnect')).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect(connected).not.toHaveBeenCalled();
    socket.destroy();
  }
  // An address is not sent as a server name (RFC 6066).
  expect(names).toEqual(['localhost']);
});

const refusals: readonly string[] = [
  "-ERR unknown command 'auth', with args beginning with: 'app' 'sesame'",
  "-ERR unknown command 'auth', with args beginning with: 'app' 'ses",
  '-ERR no user app has the password sesame',
];
for (const refusal of refusals) {
  test(`the parts of a login that a store repeats are not logged: ${refusal}`, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).on('data', () => socket.write(`${refusal}\r\n`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const log = memoryLog();
    const login = { username: 'app', password: 'sesame' };
    const store = redisStore((server.address() as AddressInfo).port, { log, login });
    t.onTestFinished(() => {
      void store.close();
      server.close();
    });
    expect(await outcomeOf(store, 'ping')).toEqual({ fault: 'connection_failed' });
    expect(log.lines.join('\n')).toMatch(/it does not take the login/);
    expect(log.lines.join('\n')).not.toMatch(/ses/);
  });
}
