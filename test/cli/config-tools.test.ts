import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const UGLY = 'events{}\nhttp { # all\nserver{listen 80;}}\n';
const NEAT = 'events {}\nhttp { # all\n    server {\n        listen 80;\n    }\n}\n';
const files = { 'ugly.conf': UGLY, 'neat.conf': NEAT, 'broken.conf': 'http {\n' };

const formatting: readonly { args: readonly string[]; code: number; stdout: string | RegExp }[] = [
  { args: ['ugly.conf'], code: 0, stdout: NEAT },
  { args: ['--tabs', 'neat.conf'], code: 0, stdout: NEAT.replaceAll('    ', '\t') },
  { args: ['-i', '2', 'neat.conf'], code: 0, stdout: NEAT.replaceAll('    ', '  ') },
  { args: ['--check', 'ugly.conf', 'neat.conf'], code: 1, stdout: 'ugly.conf\n' },
  { args: ['--check', 'neat.conf'], code: 0, stdout: '' },
  {
    args: ['--diff', 'ugly.conf'],
    code: 1,
    stdout: /^--- ugly.conf[^]*\n-events\{\}\n/,
  },
  { args: ['--diff', 'neat.conf'], code: 0, stdout: '' },
  { args: ['broken.conf'], code: 2, stdout: '' },
  { args: ['missing.conf'], code: 2, stdout: '' },
];

for (const { args, code, stdout } of formatting) {
  test(`gw fmt ${args.join(' ')} ends with ${code}`, async (t) => {
    const said = await gw(directoryWith(t, files), ['fmt', ...args]);
    expect(said.code).toBe(code);
    if (typeof stdout === 'string') expect(said.stdout).toBe(stdout);
    else expect(said.stdout).toMatch(stdout);
    if (code === 2) expect(said.stderr).toMatch(/^gw: /);
  });
}

test('gw fmt -w formats in place and keeps the mode of the file', async (t) => {
  const dir = directoryWith(t, files);
  const { mode } = statSync(join(dir, 'ugly.conf'));
  expect(await gw(dir, ['fmt', '-w', 'ugly.conf', 'neat.conf'])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(readFileSync(join(dir, 'ugly.conf'), 'utf8')).toBe(NEAT);
  expect(statSync(join(dir, 'ugly.conf')).mode).toBe(mode);
});

test('gw build turns the JSON of gw parse into a configuration with the same JSON', async (t) => {
  const dir = directoryWith(t, files);
  const parsed = await gw(dir, ['parse', 'neat.conf', '-o', 'neat.json', '--include-comments']);
  expect(parsed).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await gw(dir, ['build', 'neat.json', '-d', 'built', '-v', '--no-headers'])).toMatchObject({
    code: 0,
    stdout: 'wrote to DIR/built/neat.conf\n',
  });
  expect(readFileSync(join(dir, 'built/neat.conf'), 'utf8')).toBe(NEAT.replace('events {}', 'events {\n}'));
  expect(await gw(dir, ['build', 'neat.json', '-d', 'built'])).toMatchObject({
    code: 1,
    stderr: 'gw: "DIR/built/neat.conf" exists already; -f replaces it\n',
  });
});

test('gw build writes nothing outside of its directory', async (t) => {
  const payload = JSON.stringify({ config: [{ file: '../out.conf', parsed: [] }] });
  const dir = directoryWith(t, { 'payload.json': payload });
  expect(await gw(dir, ['build', 'payload.json', '-d', 'built'])).toMatchObject({
    code: 1,
    stderr: 'gw: "../out.conf" is outside of DIR/built\n',
  });
});

const reading: readonly { args: readonly string[]; code: number; stdout: string }[] = [
  { args: ['minify', 'ugly.conf'], code: 0, stdout: 'events{}http{server{listen 80;}}\n' },
  { args: ['lex', 'broken.conf'], code: 1, stdout: '' },
  {
    args: ['lex', '-n', 'ugly.conf'],
    code: 0,
    stdout: `${JSON.stringify(
      [
        ['events', 1],
        ['{', 1],
        ['}', 1],
        ['http', 2],
        ['{', 2],
        ['# all', 2],
        ['server', 3],
        ['{', 3],
      ].concat([
        ['listen', 3],
        ['80', 3],
        [';', 3],
        ['}', 3],
        ['}', 3],
      ]),
    )}\n`,
  },
  {
    args: ['parse', 'broken.conf'],
    code: 1,
    stdout: `${JSON.stringify({
      status: 'failed',
      errors: [
        { error: 'unexpected end of file, expecting "}" in broken.conf:1', line: 1, file: 'broken.conf' },
      ],
      config: [
        {
          file: 'broken.conf',
          status: 'failed',
          errors: [{ error: 'unexpected end of file, expecting "}" in broken.conf:1', line: 1 }],
          parsed: [],
        },
      ],
    })}\n`,
  },
];

const runReading = firstAsProgram();
for (const { args, code, stdout } of reading) {
  test(`gw ${args.join(' ')} ends with ${code}`, async (t) => {
    expect(await runReading(directoryWith(t, files), args)).toMatchObject({ code, stdout });
  });
}

test('gw parse --strict reports what a start would refuse', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': 'http {\n  listn 80;\n}\n' });
  const lenient = await gw(dir, ['parse', 'gw.conf']);
  const strict = await gw(dir, ['parse', '--strict', '--tb-onerror', 'gw.conf']);
  expect(lenient.code).toBe(0);
  expect(strict.code).toBe(1);
  expect(JSON.parse(strict.stdout)).toMatchObject({
    errors: [{ error: 'unknown directive "listn" in gw.conf:2', line: 2 }],
  });
});

const lookups: readonly { args: readonly string[]; code: number; stdout: RegExp }[] = [
  {
    args: ['why', 'root'],
    code: 0,
    stdout: /^root \(directive of core\)\n {2}.*\n {2}syntax: {2}root path;\n/,
  },
  { args: ['why', '$host'], code: 0, stdout: /^\$host \(variable of core\)\n/ },
  { args: ['why', '$http_x_any'], code: 0, stdout: /^\$http_\* \(variable of core\)\n/ },
  { args: ['why', 'sendfile'], code: 0, stdout: /no effect: / },
  { args: ['why', 'nosuch'], code: 2, stdout: /^$/ },
  { args: ['list-modules'], code: 0, stdout: /^core +\d+ directives, \d+ variables$/m },
  { args: ['list-directives', '-m', 'kv'], code: 0, stdout: /^kv_pass +/m },
  { args: ['list-variables', '--json'], code: 0, stdout: /"name": "\$args",\n[^}]*"settable": true/ },
  { args: ['list-directives', '-m', 'nosuch'], code: 2, stdout: /^$/ },
];

const runLookup = firstAsProgram();
for (const { args, code, stdout } of lookups) {
  test(`gw ${args.join(' ')} ends with ${code}`, async (t) => {
    const said = await runLookup(directoryWith(t, {}), args);
    expect(said.code).toBe(code);
    expect(said.stdout).toMatch(stdout);
  });
}
