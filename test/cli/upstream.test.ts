import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const file = wholeFile();
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway(
    file,
    `upstream app { server 10.0.0.1:80; dynamic_upstreams_managed; }
     upstream shop { server 10.1.0.1:80 weight=3; server 10.1.0.2:80 backup; dynamic_upstreams_managed; }
     server { server_name first; return 404; }
     server {
       server_name ops.test;
       location = /upstreams/app { dynamic_upstreams_api; dynamic_upstreams_target app; }
       location = /upstreams/shop { dynamic_upstreams_api; dynamic_upstreams_target shop; }
     }`,
    { workers: 2 },
  );
});

const upstream = (...args: string[]) => gw(gateway.dir, ['upstream', ...args, '-c', 'gw.conf']);
const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });

test('the peers of all managed groups are listed, or of one', async () => {
  const head = 'UPSTREAM  PEER         STATE       WEIGHT  ACTIVE  FAILS\n';
  const shop =
    'shop      10.1.0.1:80  up          3       0       0\nshop      10.1.0.2:80  up, backup  1       0       0\n';
  expect(await upstream('list')).toEqual(
    said(`${head}app       10.0.0.1:80  up          1       0       0\n${shop}`),
  );
  expect(await upstream('list', 'shop')).toEqual(said(`${head}${shop}`));
  const { stdout } = await upstream('list', 'app', '--json');
  expect(JSON.parse(stdout)).toMatchObject([{ target: 'app', peers: [{ address: '10.0.0.1:80' }] }]);
});

test('peers are added, weighed, drained, undrained and removed', async () => {
  expect(await upstream('add', 'app', '10.0.0.2:80', '--weight', '5', '--slow-start', '30s')).toEqual(
    said('added to app: 10.0.0.2:80 (generation 1)\n'),
  );
  expect(await upstream('weight', 'app', '10.0.0.2:80', '7')).toEqual(
    said('10.0.0.2:80 of app has weight 7 (generation 2)\n'),
  );
  expect(await upstream('drain', 'app', '10.0.0.1:80')).toEqual(
    said('10.0.0.1:80 of app gets bound requests only (generation 2)\n'),
  );
  expect(await upstream('drain', 'app', '10.0.0.1:80')).toEqual(said('nothing changed (generation 2)\n'));
  expect((await upstream('list', 'app')).stdout).toMatch(
    /10\.0\.0\.1:80 +draining +1[^]*10\.0\.0\.2:80 +up +7/,
  );
  expect(await upstream('undrain', 'app', '10.0.0.1:80')).toEqual(
    said('10.0.0.1:80 of app gets new requests again (generation 2)\n'),
  );
  expect(await upstream('remove', 'app', '10.0.0.1:80')).toEqual(
    said('removed from app: 10.0.0.1:80 (generation 3)\n'),
  );
});

const refused = [
  {
    args: ['remove', 'shop', '10.9.9.9:80'],
    stderr: 'gw: "10.9.9.9:80" is not in the set\n',
  },
  {
    args: ['add', 'shop', 'somewhere'],
    stderr: 'gw: add[0].address must be an IP address with a port\n',
  },
  {
    args: ['weight', 'shop', '10.1.0.1:80', 'heavy'],
    stderr: 'gw: replace[0].weight must be an integer from 1 to 65535\n',
  },
  {
    args: ['drain', 'other', '10.1.0.1:80'],
    stderr: 'gw: no location serves the API of upstream "other"\n  there is one of "app", "shop"\n',
  },
  {
    args: ['list', 'other'],
    stderr: 'gw: no location serves the API of upstream "other"\n  there is one of "app", "shop"\n',
  },
];

for (const { args, stderr } of refused) {
  test(`gw upstream ${args.join(' ')} says why nothing was done`, async () => {
    expect(await upstream(...args)).toEqual({ code: 1, stdout: '', stderr });
  });
}

test('an address names the API of a group', async () => {
  const address = `http://127.0.0.1:${gateway.port}/upstreams/shop`;
  const { code, stderr } = await gw(gateway.dir, ['upstream', 'list', '--address', address]);
  // The default server is another one.
  expect([code, stderr]).toEqual([1, `gw: ${address} responds with 404\n`]);
});
