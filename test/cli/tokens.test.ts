import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { directoryWith, gwWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const HERE = tmpdir();
const SECRET = 'a-secret-of-more-than-thirty-two-bytes';
const env = { GW_JWT_SECRET: SECRET };

const { privateKey, publicKey } = (() => {
  const d = 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI';
  const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
  const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';
  const key = { kty: 'EC', crv: 'P-256', kid: 'k1', x, y };
  return {
    privateKey: JSON.stringify({ keys: [{ ...key, d }] }),
    publicKey: JSON.stringify({ keys: [key] }),
  };
})();

async function signed(args: readonly string[], secret = SECRET): Promise<string> {
  const said = await gw(HERE, ['jwt', 'sign', ...args], { GW_JWT_SECRET: secret });
  expect(said).toMatchObject({ code: 0, stderr: '' });
  return said.stdout.trim();
}

test('gw jwt sign makes a token that gw jwt verify accepts and gw jwt inspect shows', async () => {
  const claims = ['--claim', 'n=5', '--claim', 'app={"a":["b"]}', '--claim', 'text=5 apples'];
  const token = await signed(['--role', 'web_user', '--exp', '1h', ...claims, '{"sub":"me"}']);
  const verified = await gw(HERE, ['jwt', 'verify', '--json', token], env);
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  const shown = JSON.parse(verified.stdout) as { claims: Record<string, number>; header: object };
  expect(shown).toMatchObject({
    valid: true,
    header: { alg: 'HS256', typ: 'JWT' },
    claims: { role: 'web_user', sub: 'me', n: 5, app: { a: ['b'] }, text: '5 apples' },
  });
  expect((shown.claims['exp'] as number) - (shown.claims['iat'] as number)).toBe(3600);
  const inspected = await gw(HERE, ['jwt', 'inspect', `Bearer ${token}`]);
  expect(inspected).toMatchObject({ code: 0, stderr: expect.stringContaining('not verified') as string });
  expect(inspected.stdout).toMatch(
    / {2}sub: "me"\n(.*\n)* {2}app: \{"a":\["b"\]\}\n(.*\n)* {2}role: "web_user"\n$/,
  );
});

test('gw jwt signs with the private key of a set, and verifies with the public one', async () => {
  const token = await signed(['--exp', 'never'], privateKey);
  expect(await gw(HERE, ['jwt', 'verify', token], { GW_JWT_SECRET: publicKey })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^valid\nheader\n {2}alg: "ES256"\n(.*\n)*claims\n {2}iat: \d+ \(2.*Z\)\n$/,
    ) as string,
  });
});

const DAY = 86_400;
const now = Math.floor(Date.now() / 1000);

const refused: readonly {
  it: string;
  args: readonly string[];
  with?: string;
  verify?: readonly string[];
  says: RegExp;
}[] = [
  {
    it: 'is expired',
    args: [`{"exp":${now - 5 * DAY}}`],
    says: /PGRST303 "JWT expired"\n {2}it expired at .*Z, 5 days ago\n$/,
  },
  {
    it: 'begins later',
    args: [`{"nbf":${now + 5 * DAY}}`],
    says: /"JWT not yet valid"\n {2}it is valid from .*Z, (5|4) days from now\n$/,
  },
  { it: 'was issued in the future', args: [`{"iat":${now + 5 * DAY}}`], says: /"JWT issued at future"\n/ },
  {
    it: 'is for another audience',
    args: ['--claim', 'aud=shop'],
    verify: ['--audience', 'api'],
    says: /"JWT not in audience"\n {2}it is meant for "shop", and not for "api"\n$/,
  },
  {
    it: 'was signed with another secret',
    args: [],
    with: `${SECRET}!`,
    says: /PGRST301 ".*"\n {2}its signature does not match: it was signed with another secret, or changed since\n$/,
  },
  {
    it: 'was signed with another kind of key',
    args: [],
    with: publicKey,
    says: /\n {2}it is signed with HS256, but the secret is for ES256\n$/,
  },
];

const runVerify = firstAsProgram();
for (const { it, args, with: secret = SECRET, verify = [], says } of refused) {
  test(`gw jwt verify reports that a token ${it}`, async () => {
    const token = await signed(args);
    const said = await runVerify(HERE, ['jwt', 'verify', ...verify, token], { GW_JWT_SECRET: secret });
    expect(said).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(says) as string });
  });
}

test('gw jwt verify names the keys of a set when a token names another', async () => {
  const other = privateKey.replace('"k1"', '"k2"');
  const token = await signed([], other);
  const said = await gw(HERE, ['jwt', 'verify', token], { GW_JWT_SECRET: publicKey });
  expect(said.stderr).toContain('its key id "k2" is none of the keys for ES256: "k1"\n');
});

const wrong: readonly { args: readonly string[]; code: number; stderr: string; env?: NodeJS.ProcessEnv }[] = [
  {
    args: ['jwt', 'sign'],
    code: 2,
    stderr: 'gw: standard input has no secret; set GW_JWT_SECRET, or use --secret-file\n',
    env: {},
  },
  { args: ['jwt', 'sign', '[1]'], code: 2, stderr: 'gw: the payload is not a JSON object\n' },
  {
    args: ['jwt', 'sign', '--claim', 'a'],
    code: 2,
    stderr: 'gw: invalid claim "a"\n  expected name=value\n',
  },
  {
    args: ['jwt', 'sign', '--exp', 'soon'],
    code: 2,
    stderr: 'gw: invalid time "soon"\n  expected a time such as 30s, 1h or 7d, or "never"\n',
  },
  {
    args: ['jwt', 'sign', '--alg', 'RS256'],
    code: 1,
    stderr: 'gw: the key cannot be used with the algorithm "RS256"\n',
  },
  {
    args: ['jwt', 'sign'],
    code: 1,
    stderr: 'gw: no key that can sign is among the keys\n',
    env: { GW_JWT_SECRET: publicKey },
  },
  {
    args: ['jwt', 'verify', 'a.b.c'],
    code: 1,
    stderr: 'gw: the token is refused with PGRST301 "JWT cryptographic operation failed"\n',
  },
  { args: ['jwt', 'inspect', 'abc'], code: 1, stderr: 'gw: this is not a signed JSON Web Token\n' },
  {
    args: ['jwt', 'verify'],
    code: 2,
    stderr: 'gw: the token is read from standard input: set GW_JWT_SECRET, or use --secret-file\n',
    env: {},
  },
  {
    args: ['secret', '--bytes', '31'],
    code: 2,
    stderr: 'gw: invalid number of bytes "31"\n  expected 32 to 4096\n',
  },
  {
    args: ['hash-password', '-u', 'a:b'],
    code: 2,
    stderr: 'gw: invalid user name "a:b"\n  it must not begin with "#" or contain a colon\n',
  },
  { args: ['hash-password'], code: 1, stderr: 'gw: the password is empty\n' },
  {
    args: ['hash-password', '-s', 'rot13'],
    code: 2,
    stderr:
      'gw: invalid value "rot13" of option "-s, --scheme <name>"\n  expected bcrypt, sha512, sha256, apr1, md5, ssha, sha, plain\n',
  },
];

const runWrong = firstAsProgram();
for (const { args, code, stderr, env: given = env } of wrong) {
  test(`gw ${args.join(' ')} ${given === env ? '' : 'without its secret '}ends with ${code}`, async () => {
    expect(await runWrong(HERE, args, given)).toEqual({ code, stdout: '', stderr });
  });
}

test('a secret comes from a file or from standard input, without the end of its line, and never shows', async (t) => {
  const dir = directoryWith(t, { 'key.txt': `${SECRET}\n` });
  const fromFile = await gw(dir, ['jwt', 'sign', '--role', 'a', '--secret-file', 'key.txt']);
  const piped = await gwWith(dir, ['jwt', 'verify', fromFile.stdout.trim()], `${SECRET}\r\n`);
  expect(piped.code).toBe(0);
  const token = await gwWith(dir, ['jwt', 'verify', '--secret-file', 'key.txt'], `Bearer ${fromFile.stdout}`);
  expect(token.code).toBe(0);
  const short = await gwWith(dir, ['jwt', 'sign'], 'short');
  expect(short.stderr).toBe('gw: [warn] the secret is shorter than 32 bytes, so that it can be guessed\n');
  for (const { stdout, stderr } of [fromFile, piped, token, short])
    expect(stdout + stderr).not.toMatch(/a-secret|short$/m);
});
