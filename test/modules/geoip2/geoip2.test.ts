import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Owner, oneGateway } from '../../harness/gateway.ts';
import { HAS_NGINX, hasModules, startNginx } from '../../conformance/nginx.ts';
import { responseLine } from '../../conformance/response-line.ts';
import { double, mmdb } from './mmdb.ts';

const load = oneGateway();

const NETWORKS = {
  '127.0.0.0/8': { country: { iso_code: 'ZZ', names: { en: 'Loop' } } },
  '10.0.0.0/8': {
    country: { iso_code: 'DE', names: { en: 'Germany', de: 'Deutschland' }, geoname_id: 2_921_044 },
    location: { latitude: double(52.5), longitude: double(13), accuracy_radius: 20 },
    subdivisions: [{ iso_code: 'BE' }],
    is_in_european_union: true,
  },
  '203.0.113.7/32': { country: { iso_code: 'FR' } },
};

const CONF = `
  geoip2 SITE/test.mmdb {
    $country country iso_code;
    $country_or default=none source=$arg_ip country iso_code;
    $geoip2_de default=- source=$arg_ip country names de;
    $by_id source=$arg_ip country geoname_id;
    $lat source=$arg_ip location latitude;
    $lon source=$arg_ip location longitude;
    $radius source=$arg_ip location accuracy_radius;
    $region source=$arg_ip subdivisions 0 iso_code;
    $eu source=$arg_ip is_in_european_union;
    $whole source=$arg_ip country;
    $built metadata build_epoch;
  }
  geoip2_proxy 127.0.0.1;
  geoip2_proxy_recursive on;
  server {
    location /me { return 200 "[$country]"; }
    location /of { return 200 "$country_or $geoip2_de [$by_id] [$lat] [$lon] [$radius] [$region] [$eu] [$whole]"; }
    location /built { return 200 $built; }
  }`;

/** Requests, and the responses of the module for nginx. */
const CASES = {
  'GET /me': '[ZZ]',
  'GET /me | X-Forwarded-For: 10.1.2.3': '[DE]',
  'GET /me | X-Forwarded-For: 203.0.113.7, 10.1.2.3': '[DE]',
  'GET /me | X-Forwarded-For: 203.0.113.7, 127.0.0.1': '[FR]',
  'GET /me | X-Forwarded-For: 192.0.2.1': '[]',
  'GET /me | X-Forwarded-For: nobody': '[ZZ]',
  'GET /of?ip=10.9.9.9': 'DE Deutschland [2921044] [52.50000] [13.00000] [20] [BE] [1] []',
  'GET /of?ip=203.0.113.7': 'FR - [] [] [] [] [] [] []',
  'GET /of?ip=192.0.2.1': 'none - [] [] [] [] [] [] []',
  'GET /of?ip=nonsense': 'none - [] [] [] [] [] [] []',
  'GET /of': 'none - [] [] [] [] [] [] []',
  'GET /built': '1700000000',
};

function site(t: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), 'geoip2-'));
  t.onTestFinished(async () => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'test.mmdb'), mmdb(NETWORKS));
  return directory;
}

async function expectCases(port: number): Promise<void> {
  for (const [request, body] of Object.entries(CASES))
    expect(`${request}: ${await responseLine(port, request)}`).toBe(`${request}: 200 text/plain: ${body}`);
}

test('geoip2 gives the values of a database by address', async (t) => {
  const gw = await load(t, CONF.replaceAll('SITE', site(t)));
  await expectCases(gw.port);
});

test.runIf(HAS_NGINX && hasModules(['http_geoip2']))(
  'the module for nginx gives the same values',
  async (t) => {
    await expectCases(await startNginx(t, `# modules: http_geoip2\n${CONF.replaceAll('SITE', site(t))}`));
  },
);

test('auto_reload follows changes of the file, and keeps the last good one', async (t) => {
  const directory = site(t);
  const gw = await load(
    t,
    `geoip2 ${directory}/test.mmdb { auto_reload 1ms; $country country iso_code; }
     server { return 200 "$country"; }`,
  );
  const country = async (): Promise<string> => (await gw.fetch('/')).body;
  expect(await country()).toBe('ZZ');
  writeFileSync(join(directory, 'test.mmdb'), 'no database');
  await expect.poll(country).toBe('ZZ');
  await gw.waitForLog(/test\.mmdb" cannot be read again: not a MaxMind DB file/);
  writeFileSync(join(directory, 'test.mmdb'), mmdb({ '127.0.0.0/8': { country: { iso_code: 'YY' } } }));
  await expect.poll(country).toBe('YY');
});
