import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { PASSWORD_SCHEMES } from '../../src/tools/lookups.ts';
import { GW, startGateway } from '../harness/gateway.ts';
import { directoryWith, gw, gwWith } from './command.ts';

const HERE = tmpdir();

test('gw secret prints different bytes each time, in the requested number', async () => {
  const secrets = await Promise.all([
    gw(HERE, ['secret']),
    gw(HERE, ['secret']),
    gw(HERE, ['secret', '--bytes', '64']),
  ]);
  expect(secrets.map(({ stdout }) => Buffer.from(stdout.trim(), 'base64url').length)).toEqual([32, 32, 64]);
  expect(secrets[0]?.stdout).not.toBe(secrets[1]?.stdout);
});

const SCHEMES = ['bcrypt', 'sha512', 'sha256', 'apr1', 'md5', 'ssha', 'sha', 'plain'];

test('gw hash-password offers every scheme that there is', () => {
  expect(Object.keys(PASSWORD_SCHEMES)).toEqual(SCHEMES);
});

test('auth_basic accepts the output of gw hash-password, in every scheme', async (t) => {
  const password = 'pä$$ 1';
  const lines = await Promise.all(
    SCHEMES.map((scheme) =>
      gwWith(HERE, ['hash-password', '-s', scheme, '--cost', '4', '-u', scheme], `${password}\n`),
    ),
  );
  for (const { code } of lines) expect(code).toBe(0);
  const dir = directoryWith(t, { users: lines.map(({ stdout }) => stdout).join('') });
  const gateway = await startGateway(
    t,
    `server { auth_basic here; auth_basic_user_file ${dir}/users; location / { alias html/; } }`,
    { files: { 'html/index.html': 'in' } },
  );
  for (const scheme of SCHEMES) {
    const login = (typed: string) => `Basic ${Buffer.from(`${scheme}:${typed}`).toString('base64')}`;
    await gateway.expect(
      'GET /',
      { status: 200, body: 'in' },
      { headers: { authorization: login(password) } },
    );
    await gateway.expect('GET /', { status: 401 }, { headers: { authorization: login('other') } });
  }
});

const HAS_SCRIPT = spawnSync('script', ['--version']).status === 0;

test.skipIf(!HAS_SCRIPT)(
  'gw hash-password asks twice at a terminal, and does not show the typed password',
  async () => {
    const command = `${process.execPath} ${GW} hash-password -s plain`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let seen = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (!seen.includes('Password: ') && (seen + text).includes('Password: '))
        terminal.stdin.write('hidx\x7fden\r');
      if (!seen.includes('Again: ') && (seen + text).includes('Again: ')) terminal.stdin.write('hidden\r');
      seen += text;
    });
    const code = await new Promise((resolve) => terminal.once('close', resolve));
    expect(code).toBe(0);
    expect(seen.replaceAll('\r', '')).toBe(
      'Password: \nAgain: \ngw: [warn] the password is stored as it is\n{PLAIN}hidden\n',
    );
  },
);
