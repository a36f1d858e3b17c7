import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { directoryWith, gw, runIn } from './command.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const conf = `
http {
    include part.inc; # \${env:IN_A_COMMENT}
    server {
        listen \${env:GW_T_LISTEN:-127.0.0.1:18999};
        location /rest/ {
            dbrest_pass \${env:DATABASE_URL:-postgres://u:fallback@127.0.0.1/db};
            dbrest_setting a "\${env:GW_T_MISSING}";
        }
    }
}
`;
const files = { 'gw.conf': conf, 'part.inc': 'add_header X "${env:GW_T_LISTEN}";\n' };
const env = {
  GW_T_LISTEN: '127.0.0.1:18998',
  DATABASE_URL: 'postgres://u:topsecret@127.0.0.1/db',
  TZ: 'UTC',
};

interface Environ {
  readonly gw: string;
  readonly node: string;
  readonly variables: readonly {
    readonly name: string;
    readonly isSet: boolean;
    readonly value?: string;
    readonly uses: readonly { readonly by: string; readonly place?: string; readonly default?: string }[];
  }[];
}

test('gw environ prints versions and every variable that a configuration reads, with masked values', async (t) => {
  const said = await gw(directoryWith(t, files), ['environ', '-c', 'gw.conf', '--json'], env);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  expect(said.stdout).not.toMatch(/topsecret|fallback|18998|IN_A_COMMENT/);
  const { variables, ...facts } = JSON.parse(said.stdout) as Environ;
  expect(facts).toMatchObject({ gw: VERSION, node: process.versions.node, configuration: 'DIR/gw.conf' });
  const named = (wanted: string) => variables.find(({ name }) => name === wanted);
  expect(named('TZ')).toMatchObject({ isSet: true, value: 'UTC' });
  expect(named('GW_T_LISTEN')).toEqual({
    name: 'GW_T_LISTEN',
    isSet: true,
    uses: [
      { by: 'add_header', place: expect.stringMatching(/part\.inc:1$/) as string },
      { by: 'listen', place: 'gw.conf:5', default: '127.0.0.1:18999' },
    ],
  });
  expect(named('DATABASE_URL')).toEqual({
    name: 'DATABASE_URL',
    isSet: true,
    uses: [{ by: 'gw demo, gw db' }, { by: 'dbrest_pass', place: 'gw.conf:7' }],
  });
  expect(named('GW_T_MISSING')).toMatchObject({ isSet: false });
});

test('gw environ prints a table', async (t) => {
  const { stdout } = await gw(directoryWith(t, files), ['environ', '-c', 'gw.conf'], env);
  expect(stdout).toMatch(/^gw +\d+\.\d+\.\d+\S*\nnode +\d/);
  expect(stdout).toMatch(/\nDATABASE_URL +\*\*\* +gw demo, gw db\n +dbrest_pass \(gw\.conf:7\)\n/);
  expect(stdout).toMatch(/\nGW_T_MISSING +not set +dbrest_setting \(gw\.conf:8\)\n/);
});

test('gw environ reports why a configuration cannot be read', async (t) => {
  const said = await gw(directoryWith(t, {}), ['environ', '-c', 'missing.conf']);
  expect(said).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('open() "') as string });
});

test('gw example lists all examples and prints each', async (t) => {
  const dir = directoryWith(t, {});
  const listed = JSON.parse((await gw(dir, ['example', '--json'])).stdout) as {
    name: string;
    summary: string;
  }[];
  const there = readdirSync(join(ROOT, 'conf/examples')).filter((file) => file.endsWith('.conf'));
  expect(listed.map(({ name }) => `${name}.conf`).sort()).toEqual(there.sort());
  for (const { summary } of listed) expect(summary).toMatch(/^[A-Z].*[^.]$/);
  const { stdout } = await gw(dir, ['example']);
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toContainEqual([
    'rest',
    listed.find(({ name }) => name === 'rest')?.summary,
  ]);
  for (const name of ['rest', 'rest.conf']) {
    const said = await gw(dir, ['example', name]);
    expect(said).toEqual({
      code: 0,
      stderr: '',
      stdout: readFileSync(join(ROOT, 'conf/examples/rest.conf'), 'utf8'),
    });
  }
  expect(await gw(dir, ['example', 'issuer-keys.json'])).toEqual({
    code: 0,
    stderr: '',
    stdout: readFileSync(join(ROOT, 'conf/examples/issuer-keys.json'), 'utf8'),
  });
  expect((await gw(dir, ['example', '../gw.conf'])).code).toBe(2);
  expect(await gw(dir, ['example', 'nosuch'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^gw: there is no example "nosuch"\n {2}expected acme, api-keys, /,
    ) as string,
  });
});

test('gw example works from an installed package, wherever its command is called', async (t) => {
  const dir = directoryWith(t, {});
  const home = join(dir, 'lib/node_modules/gw');
  mkdirSync(home, { recursive: true });
  for (const part of ['package.json', 'dist', 'conf'])
    cpSync(join(ROOT, part), join(home, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'));
  mkdirSync(join(dir, 'bin'));
  symlinkSync(join(home, 'dist/bin/gw.js'), join(dir, 'bin/gw'));
  const said = await runIn(dir, [join(dir, 'bin/gw'), 'example', 'tls']);
  expect(said).toEqual({
    code: 0,
    stderr: '',
    stdout: readFileSync(join(ROOT, 'conf/examples/tls.conf'), 'utf8'),
  });
});

/** The checkout around `bin/gw`, and what the program says in it. */
const checkouts = [
  {
    it: 'without packages',
    made: [],
    said: 'the packages of DIR are not installed: run "npm ci" there, then "npm run build"',
  },
  { it: 'that was not built', made: ['node_modules'], said: 'DIR is not built: run "npm run build" there' },
];
for (const { it, made, said } of checkouts)
  test(`the program of a checkout ${it} says what to run`, async (t) => {
    const dir = realpathSync(directoryWith(t, { 'package.json': '{"type":"module"}' }));
    cpSync(join(ROOT, 'bin/gw'), join(dir, 'bin/gw'));
    for (const name of made) mkdirSync(join(dir, name));
    expect(await runIn(dir, [join(dir, 'bin/gw'), '-v'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `gw: ${said}\n`,
    });
  });

test('the program of a checkout runs the build, also by a link of another name', async (t) => {
  const dir = directoryWith(t, {});
  symlinkSync(join(ROOT, 'bin/gw'), join(dir, 'nginx'));
  for (const program of [join(ROOT, 'bin/gw'), join(dir, 'nginx')])
    expect(await runIn(dir, [program, '-v'])).toEqual({
      code: 0,
      stdout: '',
      stderr: `gw version: gw/${VERSION}\n`,
    });
});

test('"-c" is below the prefix, else below the directory of the command, for each command', async (t) => {
  const conf = 'pid gw.pid; error_log stderr; events {} http { server { listen 127.0.0.1:1; return 204; } }';
  const dir = directoryWith(t, { 'p/both.conf': conf, 'both.conf': 'nonsense;', 'here.conf': conf });
  for (const file of ['both.conf', 'here.conf'])
    for (const command of [['-t'], ['explain', 'GET', 'http://127.0.0.1:1/'], ['openapi']]) {
      const { stderr, stdout } = await gw(dir, [...command, '-p', 'p', '-c', file]);
      expect(stderr + stdout).not.toMatch(/nonsense|No such file/);
    }
});

test('gw version prints the version, and as JSON where it comes from', async (t) => {
  const dir = directoryWith(t, {});
  expect(await gw(dir, ['version'])).toEqual({ code: 0, stdout: `gw version: gw/${VERSION}\n`, stderr: '' });
  const { native, ...facts } = JSON.parse((await gw(dir, ['version', '--json'])).stdout) as Record<
    string,
    unknown
  >;
  const { node, v8, openssl } = process.versions;
  const installation = { kind: 'checkout', directory: ROOT };
  expect(facts).toEqual({ version: VERSION, installation, node, v8, openssl });
  const version = expect.stringMatching(/^\d/) as string;
  expect(native).toEqual(['uWebSockets.js', 'lmdb', '@node-rs/bcrypt'].map((name) => ({ name, version })));
});
