import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/modules/control/endpoints.ts';
import { startGateway } from '../../harness/gateway.ts';
import { error } from './cases/case.ts';

const conf = (more: string) =>
  `shared_dict_zone zone=feature_flags:64k; server { location /runtime/ { control_api; ${more} } }`;
const WRITES = [
  'flag/set?name=x',
  'flag/unset?name=x',
  'cache/probe?dict=feature_flags',
  'session/probe?dict=feature_flags',
];
const from = (site: string) => ({ headers: { 'Sec-Fetch-Site': site } });

test('a browser that comes from another site cannot write', async (t) => {
  const gw = await startGateway(t, conf(''));
  for (const path of WRITES) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await gw.fetch(`/runtime/${path}`, { method, ...from('cross-site') });
      expect([path, status, headers.get('cache-control')]).toEqual([path, 403, 'no-store']);
    }
    await gw.expect(
      `GET /runtime/${path}`,
      { status: 403, json: error('cross-site request refused') },
      from('cross-site'),
    );
  }
  await gw.expect('GET /runtime/flags', { json: [] });
});

test('everybody else can', async (t) => {
  const gw = await startGateway(t, conf(''));
  for (const path of WRITES) {
    for (const site of ['same-origin', 'same-site', 'none'])
      await gw.expect(`GET /runtime/${path}`, { status: 200 }, from(site));
    await gw.expect(`GET /runtime/${path}`, { status: 200 });
  }
});

test('a browser that comes from another site can read', async (t) => {
  const gw = await startGateway(t, conf(''));
  const reads = ENDPOINTS.filter(({ writes }) => !writes);
  expect(reads.length + WRITES.length).toBe(ENDPOINTS.length);
  for (const { path } of reads) {
    const { status } = await gw.fetch(`/runtime/${path}?name=x`, from('cross-site'));
    expect([path, status]).toEqual([path, 200]);
  }
});

test('control_cross_site on lets them write', async (t) => {
  const gw = await startGateway(t, conf('control_cross_site on;'));
  for (const path of WRITES) await gw.expect(`GET /runtime/${path}`, { status: 200 }, from('cross-site'));
});
