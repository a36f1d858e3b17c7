import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { authorityAt, freePorts, shownCertificate } from './ordering.ts';
import { startGateway } from '../../harness/gateway.ts';

test('a certificate on demand is ordered in the handshake, kept over a restart, and bounded by max', async (t) => {
  const ports = await freePorts();
  const authority = await authorityAt(t, ports);
  const conf = (
    dir: string,
  ): string => `acme_issuer le { uri ${authority.base}/directory; accept_terms_of_service; state_path ${dir}/state; }
    server { listen 127.0.0.1:${ports.plain}; listen 127.0.0.1:${ports.tls} ssl; server_name *.od.test; acme_certificate le;
      acme_on_demand ask=/ask max=1; location = /ask { return 200; } }`;
  const gw = await startGateway(t, conf, { port: ports.plain, fresh: true });
  const first = await shownCertificate(ports.tls, 'x.od.test');
  expect(first?.subjectAltName).toBe('DNS:x.od.test');
  expect(await shownCertificate(ports.tls, 'y.od.test')).toBeUndefined();
  await gw.waitForLog(/certificate "y\.od\.test" is not ordered on demand: there are 1 already \(max=1\)/);
  await gw.stop();
  authority.isAway = true;
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  expect((await shownCertificate(ports.tls, 'x.od.test'))?.fingerprint256).toBe(first?.fingerprint256);
});

test('one with another kind of key is known after a restart, whatever else lies beside it', async (t) => {
  const ports = await freePorts();
  const authority = await authorityAt(t, ports);
  const conf = (
    dir: string,
  ): string => `acme_issuer le { uri ${authority.base}/directory; accept_terms_of_service; state_path ${dir}/state; }
    server { location /certificates { control_api certificates; } }
    server { listen 127.0.0.1:${ports.plain}; listen 127.0.0.1:${ports.tls} ssl; server_name *.od.test; acme_certificate le key=ecdsa:384;
      acme_on_demand ask=/ask; location = /ask { return 200; } }`;
  const gw = await startGateway(t, conf, { port: ports.plain, fresh: true });
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(40)}.od.test`;
  for (const name of ['x.od.test', long]) expect(await shownCertificate(ports.tls, name)).toBeDefined();
  await gw.stop();
  gw.lay({ 'state/certificates/.nfs000001': 'a file that is open elsewhere' });
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  const known = async (): Promise<readonly string[]> => {
    const { body } = await gw.fetch('/certificates');
    const { certificates } = JSON.parse(body) as { certificates: readonly { name: string; state: string }[] };
    return certificates.map(({ name, state }) => `${name.slice(0, 9)} ${state}`).toSorted();
  };
  await expect.poll(known).toEqual([`${'a'.repeat(9)} valid`, 'x.od.test valid']);
});

test('the URL of ask is asked for a name, once at a time, and what it refuses is not ordered', async (t) => {
  const asked: (string | undefined)[] = [];
  const helper = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(url?.endsWith('yes.od.test') ? 200 : 404).end();
  });
  await once(helper.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void helper.close());
  const { port } = helper.address() as AddressInfo;
  const ports = await freePorts();
  const authority = await authorityAt(t, ports);
  const conf = `acme_issuer le { uri ${authority.base}/directory; accept_terms_of_service; state_path off; }
    server { listen 127.0.0.1:${ports.plain}; listen 127.0.0.1:${ports.tls} ssl; server_name *.od.test; acme_certificate le;
      acme_on_demand ask=http://127.0.0.1:${port}/may?of=me; }`;
  await startGateway(t, conf, { port: ports.plain, fresh: true });
  const shown = await Promise.all(
    ['yes', 'yes', 'no', 'no'].map((name) => shownCertificate(ports.tls, `${name}.od.test`)),
  );
  expect(shown.map((one) => one?.subjectAltName)).toEqual([
    'DNS:yes.od.test',
    'DNS:yes.od.test',
    undefined,
    undefined,
  ]);
  expect(new Set(asked)).toEqual(new Set(['/may?of=me&domain=no.od.test', '/may?of=me&domain=yes.od.test']));
  expect(asked).toHaveLength(2);
  expect(authority.issued).toHaveLength(1);
});
