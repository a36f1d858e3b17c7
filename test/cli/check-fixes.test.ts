import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Owner } from '../harness/owner.ts';
import { ALIAS, checks, whole } from './checking.ts';
import { directoryWith } from './command.ts';

const check = checks();

const ignored = whole('# gw-ignore GW301: it was so\n        return 204;');

test('--fix makes only the fixes that are safe', async (t) => {
  const dir = directoryWith(t, {
    'a.conf': ignored
      .replace('return', `${ALIAS}\n        return`)
      .replace('# gw-ignore GW301', '# gw-ignore GW204'),
  });
  const said = await check(dir, ['a.conf', '--fix', '--select', 'GW121,GW301,GW204']);
  expect(said).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^a\.conf:5:25: error GW301/) as string,
  });
  expect(said.stderr).toMatch(/^gw: 1 finding mended\n/);
  expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(whole(`${ALIAS}\n        return 204;`));
});

test('fixes keep the mode, the link, the line ends and the mark of a file', async (t) => {
  const dir = directoryWith(t, { 'real.conf': `\uFEFF${ignored.replaceAll('\n', '\r\n')}` });
  chmodSync(join(dir, 'real.conf'), 0o640);
  symlinkSync('real.conf', join(dir, 'link.conf'));
  expect(await check(dir, ['link.conf', '--fix', '--select', 'GW121,GW301'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(dir, 'real.conf'), 'utf8')).toBe(
    `\uFEFF${whole('return 204;').replaceAll('\n', '\r\n')}`,
  );
  expect(statSync(join(dir, 'real.conf')).mode & 0o777).toBe(0o640);
  expect(readFileSync(join(dir, 'link.conf'), 'utf8')).toContain('204');
});

test('fixes reach included files, each once', async (t) => {
  const dir = directoryWith(t, {
    'a.conf': 'events {}\nhttp { include site.conf; }\n',
    'b.conf': 'events {}\nhttp { include site.conf; }\n',
    'site.conf': `server {\n    listen 127.0.0.1:8080;\n    ${ALIAS}\n}\n`,
  });
  expect((await check(dir, ['a.conf', 'b.conf', '--unsafe-fixes', '--select', 'GW301'])).code).toBe(0);
  expect(readFileSync(join(dir, 'site.conf'), 'utf8')).toContain('location /img/ {');
});

test('fixes that would keep the configuration from loading are not made, and the output says so', async (t) => {
  const text = whole(`${ALIAS}\n        location /img/ { return 204; }`);
  const dir = directoryWith(t, { 'a.conf': text });
  const said = await check(dir, ['a.conf', '--unsafe-fixes', '--select', 'GW301']);
  expect(said).toMatchObject({ code: 1, stdout: expect.stringContaining('GW301') as string });
  expect(said.stderr).toMatch(
    /^gw: the fix for GW301 is not made, it would lead to: duplicate location .* in a\.conf:5:25\n/,
  );
  expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(text);
});

test('fixes show as a patch with --diff, and change nothing', async (t) => {
  const dir = directoryWith(t, { 'a.conf': ignored });
  const said = await check(dir, ['a.conf', '--diff', '--select', 'GW121,GW301']);
  expect(said).toMatchObject({ code: 1, stderr: '' });
  expect(said.stdout).toMatch(
    /^--- a\.conf\n\+\+\+ a\.conf\n@@ .*\n[^]*\n- {8}# gw-ignore GW301: it was so\n/,
  );
  expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(ignored);
  expect(await check(dir, ['a.conf', '--diff', '--select', 'GW3'])).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

describe('a baseline', () => {
  async function withBaseline(t: Owner): Promise<string> {
    const dir = directoryWith(t, { 'a.conf': whole(ALIAS) });
    const said = await check(dir, ['a.conf', '--write-baseline', '--select', 'GW301']);
    expect(said).toEqual({ code: 0, stdout: '', stderr: 'gw: 1 finding kept in gw-baseline.json\n' });
    return dir;
  }
  const args = ['a.conf', '--baseline', 'gw-baseline.json', '--select', 'GW301'];

  test('leaves out the findings that it contains, wherever their lines are now', async (t) => {
    const dir = await withBaseline(t);
    writeFileSync(join(dir, 'a.conf'), `# new\n\n${whole(`# newer\n${ALIAS.replace(' { ', '\n{\n  ')}`)}`);
    expect(await check(dir, args)).toMatchObject({ code: 0, stdout: '' });
  });

  test('does not leave out the same fault a second time', async (t) => {
    const dir = await withBaseline(t);
    writeFileSync(join(dir, 'a.conf'), whole(`${ALIAS} location /i { alias /srv/i/; }`));
    const said = await check(dir, args);
    expect(said).toMatchObject({ code: 1, stdout: expect.stringMatching(/^[^\n]*"\/i"[^\n]*\n$/) as string });
  });

  test('does not hide faults that prevent loading', async (t) => {
    const dir = directoryWith(t, { 'a.conf': whole('retrun 204;') });
    expect(await check(dir, ['a.conf', '--write-baseline', 'b.json'])).toMatchObject({ code: 1 });
    expect(await check(dir, ['a.conf', '--baseline', 'b.json'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('GW105') as string,
    });
  });
});
