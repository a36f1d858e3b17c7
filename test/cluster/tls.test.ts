import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { redis } from '../harness/redis.ts';
import { SECRET } from './gateways.ts';

interface ShownCluster {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}

test.runIf(HAS_OPENSSL)('a store over TLS is verified, and so is the gateway by the store', async (t) => {
  const certificates = new Certificates();
  certificates.authority('authority');
  certificates.signed('store', 'authority', { names: ['store.test'] });
  certificates.signed('gw', 'authority');
  const port = await freePort();
  const file = (name: string): string => certificates.path(name);
  const keys = ['--tls-cert-file', file('store.crt'), '--tls-key-file', file('store.key')];
  await redis('--tls-port', String(port), ...keys, '--tls-ca-cert-file', file('authority.crt'));

  const own = `ssl_certificate ${file('gw.crt')}; ssl_certificate_key ${file('gw.key')};`;
  const trusted = `ssl_trusted_certificate ${file('authority.crt')};`;
  const clusters = {
    verified: `${own} ${trusted} ssl_name store.test;`,
    unverified: `${own} ssl_verify off;`,
    misnamed: `${own} ${trusted} ssl_name other.test;`,
    untrusted: `${own} ssl_name store.test;`,
    anonymous: `${trusted} ssl_name store.test;`,
  };
  const blocks = Object.entries(clusters).map(
    ([name, tls]) =>
      `cluster ${name} { backend rediss://127.0.0.1:${port}; namespace ${name}; node_id a; secret "${SECRET}"; ${tls} }`,
  );
  const gw = await startGateway(t, `${blocks.join('\n')} server { location / { control_api cluster; } }`);
  const shown = async (): Promise<Record<string, string>> => {
    const { clusters: all } = JSON.parse((await gw.fetch('/')).body) as { clusters: readonly ShownCluster[] };
    return Object.fromEntries(all.map(({ name, state, reason }) => [name, reason ?? state]));
  };
  await expect.poll(shown).toEqual({
    verified: 'up',
    unverified: 'up',
    misnamed: expect.stringContaining('SSL certificate does not match: Host: other.test.') as string,
    untrusted: 'SSL certificate verify error: (19:self-signed certificate in certificate chain)',
    anonymous: expect.stringMatching(/certificate required|wants another client certificate/) as string,
  });
});
