import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { deadExportsOf } from './architecture/dead-exports.ts';
import { rules } from './architecture/rules.ts';
import { parseFile, readTree } from './architecture/tree.ts';

const ROOT = resolve(import.meta.dirname, '..');
const tree = readTree(ROOT, ['bin', 'grammar', 'src']);

for (const [name, rule] of Object.entries(rules)) {
  test(`in the tree, ${name}`, () => expect(rule(tree)).toEqual([]));
}

test('in the tree, every export is imported by another file', () => {
  const found = deadExportsOf([...tree, ...readTree(ROOT, ['test'])]);
  // The build calls them.
  const called =
    /^(src\/modules\/control\/console\/page\/main\.ts:\d+ exports start|bin\/load\.ts:\d+ exports (load|guardRegexes)),/;
  expect(found.filter((line) => !called.test(line))).toEqual([]);
});

type Files = Readonly<Record<string, string>>;

/** Small trees that break one rule each, with all faults that its checker reports. */
const broken: readonly {
  readonly rule: string;
  readonly it: string;
  readonly files: Files;
  readonly says: readonly string[];
}[] = [
  {
    rule: 'imports point one way',
    it: 'a lower folder imports a higher one, also for a type only',
    files: { 'src/config/row.ts': `\nimport type { Plan } from '../plan/index.ts';` },
    says: ['src/config/row.ts:2 imports src/plan/index.ts: "config" may not import "plan"'],
  },
  {
    rule: 'imports point one way',
    it: 'a re-export, a dynamic import and an import type count',
    files: {
      'grammar/a.ts': `export { x } from '../src/log/index.ts';\nexport const load = () => import('../src/http/index.ts');`,
      'src/log/b.ts': `export type Plan = import('../plan/index.ts').Plan;`,
    },
    says: [
      'grammar/a.ts:1 imports src/log/index.ts: "grammar" may not import "log"',
      'grammar/a.ts:2 imports src/http/index.ts: "grammar" may not import "http"',
      'src/log/b.ts:1 imports src/plan/index.ts: "log" may not import "plan"',
    ],
  },
  {
    rule: 'imports point one way',
    it: 'a module reaches above the contract, and the worker into a module',
    files: {
      'src/modules/kv/a.ts': `import { p } from '../../plan/index.ts'; import { c } from '../../contract/index.ts';`,
      'src/worker/a.ts': `import { kv } from '../modules/kv/index.ts'; import { load } from '../pipeline.ts';`,
      'src/pipeline.ts': `import { modules } from './modules/index.ts';`,
    },
    says: [
      'src/modules/kv/a.ts:1 imports src/plan/index.ts: "modules" may not import "plan"',
      'src/worker/a.ts:1 imports src/modules/kv/index.ts: only the pipeline imports modules',
    ],
  },
  {
    rule: 'imports point one way',
    it: 'a folder has no place in the order',
    files: { 'src/helpers/a.ts': '' },
    says: [
      expect.stringMatching(/^src\/helpers\/a\.ts:1 lies in no folder of the order bin → master/) as string,
    ],
  },
  {
    rule: 'no files import each other in a circle',
    it: 'three files close a circle',
    files: {
      'src/log/a.ts': `import './b.ts';`,
      'src/log/b.ts': `import type { C } from './c.ts';`,
      'src/log/c.ts': `export * from './a.ts';`,
      'src/log/d.ts': `import './a.ts'; import './c.ts';`,
    },
    says: ['src/log/a.ts → src/log/b.ts → src/log/c.ts → src/log/a.ts: a circle'],
  },
  {
    rule: 'a module imports no other module',
    it: 'one module imports a type of another',
    files: { 'src/modules/kv/a.ts': `import type { X } from '../dbrest/index.ts';` },
    says: [
      'src/modules/kv/a.ts:1 imports src/modules/dbrest/index.ts: module "kv" may not import module "dbrest"',
    ],
  },
  {
    rule: 'a module imports no other module',
    it: 'the other one is a single file',
    files: { 'src/modules/kv/rules.ts': `import type { X } from '../mirror.ts';` },
    says: [
      'src/modules/kv/rules.ts:1 imports src/modules/mirror.ts: module "kv" may not import module "mirror"',
    ],
  },
  {
    rule: 'imports point one way',
    it: 'the rules of a module import the engine of the check',
    files: { 'src/modules/kv/rules.ts': `import { isOpen } from '../../tools/check/index.ts';` },
    says: ['src/modules/kv/rules.ts:1 imports src/tools/check/index.ts: "modules" may not import "check"'],
  },
  {
    rule: 'what serves imports no tool',
    it: 'the pipeline, the master or a module imports one at once',
    files: {
      'bin/check.ts': `import { review } from '../src/tools/check/index.ts';`,
      'src/tools/lsp/a.ts': `import { nameOf } from '../lookups.ts';`,
      'src/pipeline.ts': `import type { Finding } from './tools/check/index.ts';
        export const check = () => import('./tools/check/index.ts');
        export { explain } from './tools/explain/index.ts';`,
      'src/master/a.ts': `import type { Finding } from '../tools/check/index.ts';`,
      'src/modules/kv/a.ts': `export const check = () => import('../../tools/check/index.ts');`,
    },
    says: [
      'src/pipeline.ts:3 imports src/tools/explain/index.ts: only commands import tools, and the pipeline lazily',
      'src/master/a.ts:1 imports src/tools/check/index.ts: only commands import tools, and the pipeline lazily',
      'src/modules/kv/a.ts:1 imports src/tools/check/index.ts: only commands import tools, and the pipeline lazily',
    ],
  },
  {
    rule: 'the rules of a module are read when a check asks for them',
    it: 'they are imported at once, or by another file',
    files: {
      'src/modules/kv/index.ts': `import { rules } from './rules.ts'; export const x = { rules: () => import('./rules.ts') };`,
      'src/modules/kv/handler.ts': `import type { KvRule } from './rules.ts';`,
      'src/modules/proxy/index.ts': `export const x = { rules: () => import('./rules/index.ts') };`,
      'src/modules/proxy/rules/index.ts': `import { uri } from './uri.ts';`,
    },
    says: [
      'src/modules/kv/index.ts:1 imports src/modules/kv/rules.ts: rules are read lazily, by the module alone',
      'src/modules/kv/handler.ts:1 imports src/modules/kv/rules.ts: rules are read lazily, by the module alone',
    ],
  },
  {
    rule: 'nothing is cast through unknown',
    it: 'a value is made to be of another type',
    files: { 'src/plan/a.ts': `const a = 1 as const;\nexport const b = f(a as unknown as string);` },
    says: ['src/plan/a.ts:2 casts through unknown'],
  },
  {
    rule: 'a folder is entered through its index.ts',
    it: 'a file behind the index is imported from outside, and the index from inside',
    files: {
      'src/config/row.ts': `import type { A } from './index.ts'; import { t } from './readers/time.ts';`,
      'src/config/readers/index.ts': '',
      'src/config/readers/time.ts': `import type { A } from '../index.ts'; import { s } from './size.ts';`,
      'src/plan/a.ts': `import { row } from '../config/row.ts'; import { c } from './checks/b.ts';`,
      'src/plan/checks/b.ts': `import { index } from '../../config/index.ts';`,
    },
    says: [
      'src/config/row.ts:1 imports src/config/index.ts: a file imports its siblings, never the index above it',
      'src/config/row.ts:1 imports src/config/readers/time.ts: "src/config/readers/" is entered through its index.ts',
      'src/config/readers/time.ts:1 imports src/config/index.ts: a file imports its siblings, never the index above it',
      'src/plan/a.ts:1 imports src/config/row.ts: "src/config/" is entered through its index.ts',
    ],
  },
  {
    rule: 'a dependency has one home',
    it: 'a driver, or its types, is imported elsewhere',
    files: {
      'src/modules/kv/a.ts': `import type { Client } from 'pg'; import { Redis } from 'ioredis';`,
      'src/worker/a.ts': `import { App } from 'uWebSockets.js';`,
      'src/worker/transport/b.ts': `import { App } from 'uWebSockets.js';`,
    },
    says: [
      'src/modules/kv/a.ts:1 imports pg: its home is "src/postgres/"',
      'src/modules/kv/a.ts:1 imports ioredis: its home is "src/redis/"',
      'src/worker/a.ts:1 imports uWebSockets.js: its home is "src/worker/transport/"',
    ],
  },
  {
    rule: 'a dependency has one home',
    it: 'two folders import the same package',
    files: { 'src/http/a.ts': `import x from '@scope/x/y';`, 'src/log/b.ts': `import x from '@scope/x';` },
    says: ['src/log/b.ts:1 imports @scope/x: its home is "http" already'],
  },
  {
    rule: 'a package that few configurations need is loaded for them',
    it: 'it is imported with the file',
    files: {
      'src/redis/a.ts': `import type { Redis } from 'ioredis';
        export type All = typeof import('ioredis');
        export const load = () => import('ioredis');
        import { Command } from 'ioredis';
        export { Cluster } from 'ioredis';`,
    },
    says: [
      'src/redis/a.ts:4 imports ioredis: it is loaded when it is needed',
      'src/redis/a.ts:5 imports ioredis: it is loaded when it is needed',
    ],
  },
  {
    rule: 'importing a file of a module changes nothing',
    it: 'a file acts, keeps state or asks the outside world',
    files: {
      'src/modules/kv/a.ts': `import './b.ts';
        import { readFileSync } from 'node:fs';
        register('kv');
        let count = 0;
        export const text = readFileSync('x');
        const timer = setInterval(() => count++, 1);
        const ready = await open();
        if (ready) text.trim();`,
      'src/modules/kv/pure.ts': `import { readFileSync } from 'node:fs';
        export const read = () => readFileSync('x');
        export const table = new Map([['a', 1]]);
        const row = directivesFor()({ a: readers.size() });
        export { row };
        declare module 'untyped' { export const x: number; }
        export default class Pool {}`,
      'src/worker/main.ts': `start();`,
    },
    says: [
      'src/modules/kv/a.ts:1 imports src/modules/kv/b.ts for its side effect',
      'src/modules/kv/a.ts:3 runs a statement (ExpressionStatement) on import',
      'src/modules/kv/a.ts:4 makes a variable that can change (let) on import',
      'src/modules/kv/a.ts:5 calls "readFileSync" on import',
      'src/modules/kv/a.ts:6 calls "setInterval" on import',
      'src/modules/kv/a.ts:7 waits on import',
      'src/modules/kv/a.ts:8 runs a statement (IfStatement) on import',
    ],
  },
  {
    rule: 'files stay under 500 lines',
    it: 'a file has 501 lines',
    files: { 'bin/long.ts': '\n'.repeat(501), 'bin/short.ts': '\n'.repeat(500) },
    says: ['bin/long.ts:501 has 501 lines'],
  },
  {
    rule: 'private members are called #name',
    it: 'a field or a method has the keyword instead',
    files: {
      'src/log/a.ts': `export class A {\n private constructor() {}\n #x = 1;\n private y = 1;\n private read() {}\n}`,
    },
    says: [
      'src/log/a.ts:4 has a member that is "private", not #',
      'src/log/a.ts:5 has a member that is "private", not #',
    ],
  },
];

for (const { rule, it, files, says } of broken) {
  test(`the checker of "${rule}" reports that ${it}`, () => {
    const small = Object.entries(files).map(([path, text]) => parseFile(path, text));
    expect(rules[rule]?.(small)).toEqual(says);
  });
}

test('an export is dead when no file, and no test, takes its name', () => {
  const files: Files = {
    'src/log/index.ts': `export { a, type B } from './a.ts';\nexport * from './c.ts';\nexport * as all from './d.ts';`,
    'src/log/a.ts': `export const a = 1;\nexport type B = 1;\nexport function own() {}\nexport const [x] = [own()];`,
    'src/log/c.ts': `export class C {}\nexport interface Unused {}`,
    'src/log/d.ts': `export const d = 1;`,
    'src/plan/a.ts': `import { a, C } from '../log/index.ts';\nexport const late = () => import('./late.ts');`,
    'src/plan/late.ts': `export const anything = 1;`,
    'test/a.test.ts': `import { late } from '../src/plan/a.ts';\nimport { all as everything } from '../src/log/index.ts';`,
  };
  expect(deadExportsOf(Object.entries(files).map(([path, text]) => parseFile(path, text)))).toEqual([
    'src/log/index.ts:1 exports B, which no file imports',
    'src/log/a.ts:3 exports own, which no file imports',
    'src/log/c.ts:2 exports Unused, which no file imports',
  ]);
});
