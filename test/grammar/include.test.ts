import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { formatFaults, type LoadOptions, loadTree, Report } from '../../grammar/index.ts';
import { plain, type Plain } from './load-text.ts';

interface Outcome {
  readonly directives: Plain[] | undefined;
  readonly sources: string[] | undefined;
  /** The messages with their places; the directory shows as `/conf`. */
  readonly faults: string[];
}

/** Loads `gw.conf` from a directory with these files; a name that ends in `@` is a symbolic link to its content. */
function load(files: Record<string, string | Buffer>, options: Partial<LoadOptions> = {}): Outcome {
  const directory = mkdtempSync(join(tmpdir(), 'gw-include-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(join(path, '..'), { recursive: true });
    if (name.endsWith('@')) symlinkSync(content.toString(), path.slice(0, -1));
    else writeFileSync(path, content);
  }
  const report = new Report();
  const tree = loadTree({
    file: join(directory, 'gw.conf'),
    name: 'conf/gw.conf',
    env: {},
    ...options,
    report,
  });
  const printed = formatFaults(report, { program: 'gw', color: false });
  return {
    directives: tree && plain(tree.directives),
    sources: tree?.sources.map((source) => source.name),
    faults: printed.match(/^gw: .*/gm)?.map((line) => line.slice(4).replaceAll(directory, '/conf')) ?? [],
  };
}

test('included directives stand where the include stood, in any block', () => {
  expect(
    load({
      'gw.conf': 'a;\ninclude b.conf;\nc { include "sub/d.conf"; }',
      'b.conf': 'b1;b2;',
      'sub/d.conf': 'd;',
    }),
  ).toEqual({
    directives: [['a'], ['b1'], ['b2'], ['c', [['d']]]],
    sources: ['conf/gw.conf', 'conf/b.conf', 'conf/sub/d.conf'],
    faults: [],
  });
});

test('paths are relative to the directory of the main file, also in included files', () => {
  const files = { 'gw.conf': 'include sub/a.conf;', 'sub/a.conf': 'include b.conf;', 'b.conf': 'b;' };
  expect(load(files).directives).toEqual([['b']]);
});

test('a file that is included twice is one source', () => {
  const outcome = load({ 'gw.conf': 'include a.conf;include a.conf;', 'a.conf': 'a;' });
  expect(outcome.directives).toEqual([['a'], ['a']]);
  expect(outcome.sources).toEqual(['conf/gw.conf', 'conf/a.conf']);
});

test('command-line directives may include', () => {
  expect(load({ 'gw.conf': 'b;', 'a.conf': 'a {}' }, { globals: 'include a.conf;' }).directives).toEqual([
    ['a', []],
    ['b'],
  ]);
});

const globs = [
  { pattern: '*.conf', is: ['B.conf', 'a.conf', 'b1.conf', 'b10.conf', 'b2.conf', 'gw{x}.conf', 'ä.conf'] },
  { pattern: '?.conf', is: ['B.conf', 'a.conf', 'ä.conf'] },
  { pattern: 'b[0-9].conf', is: ['b1.conf', 'b2.conf'] },
  { pattern: '[!a-z].conf', is: ['B.conf', 'ä.conf'] },
  { pattern: '.*.conf', is: ['.hidden.conf'] },
  { pattern: '{a,b1}.con?', is: [] },
  { pattern: '*{x}.conf', is: ['gw{x}.conf'] },
  { pattern: '**/x.conf', is: ['dir/x.conf', 'link/x.conf'] },
  { pattern: '*/[x]*', is: ['dir/x.conf', 'link/x.conf'] },
  { pattern: 'nothing/*', is: [] },
];

for (const { pattern, is } of globs) {
  test(`the mask ${pattern} matches as in glob(3), in C order`, () => {
    const names = ['B', 'a', 'b1', 'b10', 'b2', 'gw{x}', 'ä', '.hidden', 'dir/x'].map(
      (name) => `${name}.conf`,
    );
    const files = Object.fromEntries(names.map((name) => [name, `"${name}";`]));
    const main = `include "sites/${pattern}";`;
    const sites = Object.entries(files).map(([name, text]) => [`sites/${name}`, text]);
    const outcome = load({ 'gw.conf': main, ...Object.fromEntries(sites), 'sites/link@': 'dir' });
    expect(outcome.faults).toEqual([]);
    expect(outcome.directives).toEqual(is.map((name) => [name.replace('link', 'dir')]));
  });
}

const refusals = [
  {
    it: 'that is missing',
    files: { 'gw.conf': 'include b;' },
    faults: ['[emerg] open() "/conf/b" failed (2: No such file or directory) in conf/gw.conf:1:9'],
  },
  {
    it: 'that is a dangling link',
    files: { 'gw.conf': 'include b*;', 'b@': 'x' },
    faults: ['[emerg] open() "/conf/b" failed (2: No such file or directory) in conf/gw.conf:1:9'],
  },
  {
    it: 'that is a directory',
    files: { 'gw.conf': 'include b;', 'b/c': '' },
    faults: ['[emerg] pread() "/conf/b" failed (21: Is a directory) in conf/gw.conf:1:9'],
  },
  {
    it: 'that includes itself by way of another',
    files: { 'gw.conf': 'include a;', a: 'include b;', b: '\ninclude a;' },
    faults: ['[emerg] include cycle conf/a -> conf/b -> conf/a in conf/b:2:9'],
  },
  {
    it: 'that includes itself under another name',
    files: { 'gw.conf': 'include a;', a: 'include b;', 'b@': 'a' },
    faults: ['[emerg] include cycle conf/a -> conf/b in conf/a:1:9'],
  },
  {
    it: 'that is the main file',
    files: { 'gw.conf': 'include gw.conf;' },
    faults: ['[emerg] include cycle conf/gw.conf -> conf/gw.conf in conf/gw.conf:1:9'],
  },
  {
    it: 'that leaves a block open',
    files: { 'gw.conf': 'a { include b; }', b: 'c {' },
    faults: ['[emerg] unexpected end of file, expecting "}" in conf/b:1:4'],
  },
  {
    it: 'that closes a block of another',
    files: { 'gw.conf': 'a { include b;', b: '}' },
    faults: [
      '[emerg] unexpected end of file, expecting "}" in conf/gw.conf:1:15',
      '[emerg] unexpected "}" in conf/b:1:1',
    ],
  },
  {
    it: 'with two names',
    files: { 'gw.conf': 'include a b;' },
    faults: ['[emerg] invalid number of arguments in "include" directive in conf/gw.conf:1:1'],
  },
  {
    it: 'with a block',
    files: { 'gw.conf': 'include a {}' },
    faults: ['[emerg] directive "include" is not terminated by ";" in conf/gw.conf:1:1'],
  },
  {
    it: 'with a fault twice, once',
    files: { 'gw.conf': 'include a;include a;', a: ';' },
    faults: ['[emerg] unexpected ";" in conf/a:1:1'],
  },
];

for (const { it, files, faults } of refusals) {
  test(`an included file ${it} is refused`, () =>
    expect(load(files as Record<string, string>).faults).toEqual(faults));
}

test('a main file that is missing leaves no tree', () => {
  expect(load({})).toEqual({
    directives: undefined,
    sources: undefined,
    faults: ['[emerg] open() "/conf/gw.conf" failed (2: No such file or directory)'],
  });
});

test('a file that is not UTF-8 is read as ISO 8859-1, with a warning', () => {
  expect(load({ 'gw.conf': Buffer.from('é "a\xfc";', 'latin1') })).toEqual({
    directives: [['é', 'aü']],
    sources: ['conf/gw.conf'],
    faults: ['[warn] invalid UTF-8, the file is read as ISO 8859-1 in conf/gw.conf:1:1'],
  });
});

const bombs = [
  {
    it: 'nest without end',
    main: 'include 0;',
    file: (path: string) => `include ${Number(path.slice(1)) + 1};`,
    message: 'files are included deeper than 32 levels',
  },
  {
    it: 'are too many',
    main: 'include a;'.repeat(10_001),
    file: () => 'a;',
    message: 'more than 10000 files are included',
  },
  {
    it: 'are too large together',
    main: 'include a;'.repeat(4),
    file: () => '#'.repeat(30 << 20),
    message: 'the configuration is larger than 64 MB',
  },
];

for (const { it, main, file, message } of bombs) {
  test(`included files that ${it} are refused`, () => {
    const report = new Report();
    loadTree({ file: '/gw.conf', text: main, readFile: file, env: {}, report });
    expect(new Set(report.faults.map((fault) => fault.message))).toEqual(new Set([message]));
  });
}
