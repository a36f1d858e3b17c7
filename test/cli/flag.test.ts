import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const file = wholeFile();
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway(
    file,
    `shared_dict_zone zone=feature_flags:64k; shared_dict_zone zone=other:64k;
     ${['"new ui"', 'old', 'timed', 'there'].map((name, index) => `feature_flag $flag_${index} ${name};`).join(' ')}
     server { server_name first; return 404; }
     server { server_name ops.test; location /ops/ { location /ops/control { control_api; } } }`,
    { workers: 2 },
  );
});

const flag = (...args: string[]) => flagBy(gw, ...args);
const flagBy = (run: typeof gw, ...args: string[]) => run(gateway.dir, ['flag', ...args, '-c', 'gw.conf']);
const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });

test('flags are set, listed and unset through the location that the configuration names', async () => {
  expect(await flag('list')).toEqual(said('no flags\n'));
  expect(await flag('set', 'new ui')).toEqual(said('new ui is on, rollout 100 %, expires in 3600 s\n'));
  expect(await flag('set', 'old', 'off', '--rollout', '25', '--ttl', '0')).toEqual(
    said('old is off, rollout 25 %, expires never\n'),
  );
  const { body } = await gateway.fetch('/ops/control/flag?name=old', { headers: { host: 'ops.test' } });
  expect(JSON.parse(body)).toEqual({
    status: 'ok',
    name: 'old',
    enabled: 'false',
    rollout_pct: '25',
    ttl_s: '0',
  });
  const { code, stdout } = await flag('list');
  expect(code).toBe(0);
  expect(stdout.replace(/in \d+ s/, 'in N s')).toBe(
    'FLAG    STATE  ROLLOUT  EXPIRES\nnew ui  on     100 %    in N s\nold     off    25 %     never\n',
  );
  expect((await flag()).stdout.replace(/in \d+ s/, 'in N s')).toBe(stdout.replace(/in \d+ s/, 'in N s'));
  expect(await flag('unset', 'new ui')).toEqual(said('new ui is no longer set\n'));
  const { stdout: json } = await flag('list', '--json');
  expect(JSON.parse(json)).toEqual([{ name: 'old', enabled: 'false', rollout_pct: '25', ttl_s: '0' }]);
});

test('a lifetime has the syntax of times in configurations', async () => {
  for (const [ttl, seconds] of [
    ['90', '90'],
    ['2m', '120'],
    ['1h30m', '5400'],
    ['1500ms', '2'],
  ] as const) {
    expect((await flag('set', 'timed', '--ttl', ttl)).stdout).toBe(
      `timed is on, rollout 100 %, expires in ${seconds} s\n`,
    );
  }
});

test('a dictionary can be named', async () => {
  expect((await flag('set', 'there', '--dict', 'other')).code).toBe(0);
  expect((await flag('list', '--dict', 'other')).stdout).toContain('there');
  expect((await flag('list')).stdout).not.toContain('there');
});

test('a flag that nothing in the configuration reads is told of', async () => {
  for (const [name, hint] of [
    ['newui', '  did you mean "new ui"?\n'],
    ['else', ''],
  ] as const)
    expect(await flag('set', name)).toEqual({
      ...said(`${name} is on, rollout 100 %, expires in 3600 s\n`),
      stderr: `gw: no "feature_flag" of gw.conf reads "${name}"\n${hint}`,
    });
});

test('control characters of a name are shown as text', async () => {
  const { stdout } = await flag('set', 'a\u001b[2Jb\nc');
  expect(stdout).toBe('a\\u001b[2Jb\\u000ac is on, rollout 100 %, expires in 3600 s\n');
});

const refused = [
  { args: ['unset', 'nothing'], code: 1, stderr: 'gw: flag not found: nothing\n' },
  { args: ['list', '--dict', 'nope'], code: 1, stderr: 'gw: shared dict not found: nope\n' },
  {
    args: ['set', 'x', '--rollout', '101'],
    code: 2,
    stderr: 'gw: invalid value "101" of "--rollout"\n  expected 0 to 100\n',
  },
  {
    args: ['set', 'x', '--ttl', 'soon'],
    code: 2,
    stderr: 'gw: invalid time "soon"\n  expected a time such as 30s, 1h or 7d, or 0 for ever\n',
  },
  {
    args: ['set', 'x', 'maybe'],
    code: 2,
    stderr: 'gw: invalid value "maybe" of argument "state"\n  expected on, off\n',
  },
  { args: ['set'], code: 2, stderr: 'gw: missing required argument "name"\n' },
];
const runRefused = firstAsProgram();
for (const { args, code, stderr } of refused) {
  test(`gw flag ${args.join(' ')} ends with ${code} and a message`, async () => {
    expect(await flagBy(runRefused, ...args)).toEqual({ code, stdout: '', stderr });
  });
}

test('a gateway can be named by its address instead of its configuration', async (t) => {
  const other = await startGateway(
    t,
    `shared_dict_zone zone=feature_flags:64k; server { location /runtime/ { control_api; } location /ops { control_api; } }`,
  );
  for (const address of [`127.0.0.1:${other.port}`, `${other.url}/ops`, `${other.url}/ops/`]) {
    expect((await gw(other.dir, ['flag', 'set', 'x', '--address', address])).code).toBe(0);
  }
  expect(await gw(other.dir, ['flag', 'set', 'x', '--address', `${other.url}/elsewhere/`])).toEqual({
    code: 1,
    stdout: '',
    stderr: `gw: ${other.url}/elsewhere/flag/set responds with 404\n`,
  });
});

test('a configuration without flags and a gateway that does not run are reported', async (t) => {
  const dir = directoryWith(t, {
    'none.conf': 'http { server { return 204; } }\n',
    'broken.conf': 'http { sever { } }\n',
    'silent.conf': `http { shared_dict_zone zone=feature_flags:64k; server { listen 127.0.0.1:9; location /r/ { control_api; } } }\n`,
  });
  const list = (conf: string) => gw(dir, ['flag', 'list', '-c', conf]);
  expect(await list('none.conf')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no location of .*none\.conf serves "flags"/) as string,
  });
  expect(await list('broken.conf')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/unknown directive "sever"/) as string,
  });
  expect(await list('silent.conf')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^gw: http:\/\/127\.0\.0\.1:9\/r\/flags does not respond: .*ECONNREFUSED.*\n$/,
    ) as string,
  });
});
