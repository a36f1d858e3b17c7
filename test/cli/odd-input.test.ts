import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, runIn } from './command.ts';
import { firstAsProgram } from './in-process.ts';
import { GW } from '../harness/gateway.ts';

const gw = firstAsProgram();

const SITE = 'http {\n    server {\n        listen 127.0.0.1:8080;\n        return 204;\n    }\n}\n';
const files = {
  'site.conf': SITE,
  'no-parsed.json': '{"config":[{"file":"x"}]}',
  'no-word.json': '{"config":[{"file":"x","parsed":[{"directive":5,"args":"x"}]}]}',
};

const cases: readonly { args: readonly string[]; code: number; stderr: string }[] = [
  { args: ['fmt', 'missing'], code: 2, stderr: 'open() "missing" failed (2: No such file or directory)' },
  { args: ['fmt', '.'], code: 2, stderr: 'read() "." failed (21: Is a directory)' },
  {
    args: ['fmt', '-i', 'x'],
    code: 2,
    stderr: 'invalid value "x" of option "-i, --indent <blanks>"\n  expected 0 to 16',
  },
  { args: ['lex', 'missing'], code: 1, stderr: 'open() "missing" failed (2: No such file or directory)' },
  {
    args: ['minify', 'site.conf', '-o', 'no/where'],
    code: 1,
    stderr: 'open() "no/where" failed (2: No such file or directory)',
  },
  {
    args: ['parse', 'site.conf', '-o', 'no/where'],
    code: 1,
    stderr: 'open() "no/where" failed (2: No such file or directory)',
  },
  { args: ['build', 'no-parsed.json'], code: 1, stderr: '"no-parsed.json" is no payload of crossplane' },
  { args: ['build', 'no-word.json'], code: 1, stderr: '"no-word.json" is no payload of crossplane' },
  {
    args: ['check', 'site.conf', '-f', 'json:no/where'],
    code: 2,
    stderr: 'open() "no/where" failed (2: No such file or directory)',
  },
  {
    args: ['check', 'site.conf', '--write-baseline', 'no/where'],
    code: 2,
    stderr: 'open() "no/where" failed (2: No such file or directory)',
  },
  {
    args: ['check', 'site.conf', '--baseline', 'site.conf'],
    code: 2,
    stderr: '"site.conf" is no baseline of gw check',
  },
  {
    args: ['check', '--write-baseline', 'site.conf'],
    code: 2,
    stderr: '"site.conf" is no baseline of gw check',
  },
  { args: ['why', 'GW88'], code: 2, stderr: 'there is no rule "GW88"' },
  {
    args: ['why', 'xslt_stylesheet'],
    code: 2,
    stderr: '"xslt_stylesheet" is not supported\n  this nginx module is not available in gw',
  },
  {
    args: ['why', 'proxy_pas'],
    code: 2,
    stderr: 'nothing is called "proxy_pas"\n  did you mean "proxy_pass"?',
  },
  {
    args: ['explain', 'GET', '/', '-c', 'site.conf', '--from', 'here'],
    code: 2,
    stderr: 'invalid value "here" of option "--from <address>"\n  expected an IP address',
  },
  {
    args: ['explain', 'GET', '/', '-c', 'site.conf', '-H', 'X: a\r\nY: b'],
    code: 2,
    stderr: 'invalid header "X: a\\x0D\\x0AY: b"',
  },
  {
    args: ['jwt', 'verify', 'a.b.c', '--secret-file', 'missing'],
    code: 2,
    stderr: 'open() "missing" failed (2: No such file or directory)',
  },
];

for (const { args, code, stderr } of cases) {
  test(`gw ${args.join(' ')} ends with ${code} and a message`, async (t) => {
    const dir = directoryWith(t, files);
    const said = await gw(dir, args, { GITHUB_ACTIONS: '' });
    // Where nginx or gw is installed, a command without a file takes its configuration.
    const own = said.stderr.replace(/^gw: using the configuration file \/etc\/.*\n/, '');
    expect({ ...said, stderr: own }).toEqual({ code, stdout: '', stderr: `gw: ${stderr}\n` });
    expect(readFileSync(join(dir, 'site.conf'), 'utf8')).toBe(SITE);
  });
}

test('gw why with the beginning of an id lists the rules that begin with it', async (t) => {
  const { code, stdout } = await gw(directoryWith(t, {}), ['why', 'GW30']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^GW301 +error +alias-traversal /);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .every((line) => line.startsWith('GW30')),
  ).toBe(true);
});

test('gw check of a directory skips what cannot be read', async (t) => {
  const dir = directoryWith(t, { 'a.conf': SITE, 'b.conf': SITE.replace('204', 'abc') });
  symlinkSync('nowhere', join(dir, 'aa.conf'));
  const said = await gw(dir, ['check', '.', '-f', 'concise']);
  expect(said.code).toBe(2);
  expect(said.stdout).toMatch(/^b\.conf:4:16: error GW108 /);
  expect(said.stderr).toMatch(/^gw: open\(\) "aa\.conf" failed \(2: No such file or directory\)\n/);
});

test('gw check lets a piece include from the directory of the configuration above them', async (t) => {
  const dir = directoryWith(t, {
    'nginx.conf': 'events {}\nhttp {}\n',
    'disk.conf': 'proxy_temp_path temp;\n',
    'snippets/files.conf': 'include disk.conf;\nproxy_send_lowat 1;\n',
  });
  const { code, stdout } = await gw(dir, ['check', '-f', 'concise', 'snippets/files.conf']);
  expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'snippets/files.conf:2:1:',
    'disk.conf:1:1:',
    '',
  ]);
  expect(code).toBe(0);
});

test('a file in ISO 8859-1 keeps its encoding when it is mended, and gw check reports the encoding before and after', async (t) => {
  const dir = directoryWith(t, {});
  const text = SITE.replace('204;', '200 "caf\u00e9"');
  writeFileSync(join(dir, 'a.conf'), text, 'latin1');
  const { stdout } = await gw(dir, ['check', '--fix', '-f', 'concise', 'a.conf']);
  expect(stdout).toMatch(/^a\.conf:4:24: warning GW101 [^\n]*ISO 8859-1\n$/);
  expect(readFileSync(join(dir, 'a.conf'), 'latin1')).toBe(text.replace('"\n', '";\n'));
});

test('a file that is mended keeps its mode', async (t) => {
  const dir = directoryWith(t, { 'a.conf': SITE.replace('204;', '204') });
  chmodSync(join(dir, 'a.conf'), 0o440);
  expect(await gw(dir, ['check', '--fix', 'a.conf'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(SITE);
});

for (const args of ['why --list', 'reference', 'check site.conf', 'explain GET / -c site.conf']) {
  test(`gw ${args} ends well when its output is not read`, async (t) => {
    const dir = directoryWith(t, files);
    const line = `{ "${process.execPath}" "${GW}" ${args} 2>&1; echo $? >code; } | true`;
    await runIn(dir, ['sh', '-c', line]);
    expect(readFileSync(join(dir, 'code'), 'utf8')).toBe('0\n');
  });
}
