import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { freePort } from '../harness/ports.ts';
import { redis } from '../harness/redis.ts';
import { directoryWith, gw } from './command.ts';

const conf = (port: number): string =>
  `http { server { listen 127.0.0.1:8080; location = /hits { kv_pass 127.0.0.1:${port}; kv_key hits; } } }\n`;

test('check --live fails where a store cannot be reached, and only then', async (t) => {
  const { port } = await redis();
  const nobody = await freePort();
  const dir = directoryWith(t, { 'up.conf': conf(port), 'down.conf': conf(nobody) });
  const up = await gw(dir, ['check', '--live', '-f', 'concise', 'up.conf']);
  expect(up).toMatchObject({ code: 0, stdout: '' });
  const down = await gw(dir, ['check', '--live', '-f', 'concise', 'down.conf']);
  expect(down).toMatchObject({
    code: 1,
    stdout: `down.conf:1:59: error GW750 store-unreachable: the store at 127.0.0.1:${nobody} cannot be reached: connection refused\n`,
  });
  expect(await gw(dir, ['check', '-f', 'concise', 'down.conf'])).toMatchObject({ code: 0, stdout: '' });
});

test.runIf(HAS_OPENSSL)('check --live verifies a store as the gateway does', async (t) => {
  const files = new Certificates();
  files.authority('ca');
  files.signed('store', 'ca', { names: ['store.test'] });
  files.signed('gw', 'ca');
  const port = await freePort();
  const pair = ['--tls-cert-file', files.path('store.crt'), '--tls-key-file', files.path('store.key')];
  await redis('--tls-port', String(port), ...pair, '--tls-ca-cert-file', files.path('ca.crt'));
  const shown = 'kv_ssl_certificate gw.crt; kv_ssl_certificate_key gw.key;';
  const confOf = (tls: string): string =>
    `http { server { listen 127.0.0.1:8080; location = /hits {\n kv_pass rediss://127.0.0.1:${port};\n kv_key hits; ${tls} } } }\n`;
  const cases = {
    'up.conf': [`${shown} kv_ssl_trusted_certificate ca.crt; kv_ssl_name store.test;`, /^$/],
    'untrusted.conf': [
      `${shown} kv_ssl_name store.test;`,
      /SSL certificate verify error: \(19:self-signed certificate/,
    ],
    'misnamed.conf': [
      `${shown} kv_ssl_trusted_certificate ca.crt;`,
      /SSL certificate does not match: IP: 127\.0\.0\.1/,
    ],
    'anonymous.conf': [
      'kv_ssl_trusted_certificate ca.crt; kv_ssl_name store.test;',
      /certificate required|wants another client certificate/,
    ],
  } as const;
  const dir = directoryWith(t, {
    ...Object.fromEntries(Object.entries(cases).map(([name, [tls]]) => [name, confOf(tls)])),
    ...Object.fromEntries(['ca.crt', 'gw.crt', 'gw.key'].map((name) => [name, files.read(name)])),
  });
  chmodSync(join(dir, 'gw.key'), 0o600);
  for (const [name, [, says]] of Object.entries(cases)) {
    const { code, stdout } = await gw(dir, ['check', '--live', '-f', 'concise', name]);
    expect(stdout).toMatch(says);
    expect(code).toBe(stdout === '' ? 0 : 1);
    if (stdout !== '')
      expect(stdout).toMatch(/:2:2: error GW750 store-unreachable: the store at \S+ cannot be reached: /);
  }
});
