import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';

// Loads the programs in `dist/`. Beside each of their files is the code that V8 compiled when the build ran the program
// (`bin/build/record.mjs`); reading it takes a fraction of the time of compiling. V8 refuses code of another version or
// for other flags; then the file is compiled as usual.

/** The build asks it for the flags that a process has once it serves. */
export { guardRegexes } from '../src/config/index.ts';

/** `here` replaces `import.meta`, which a script does not have. */
type Evaluate = (
  module: { exports: unknown },
  require: (name: string) => unknown,
  here: { readonly dirname: string; readonly url: string },
) => void;

const HEAD = '(function (module, require, here) {';

const loaded = new Map<string, { exports: unknown }>();

/** Returns the exports of a file of a program. A file is evaluated once. */
export function load(file: string): unknown {
  const known = loaded.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(file, module);
  const cachedData = codeOf(file);
  // The build writes ASCII only.
  const script = new Script(`${HEAD}${readFileSync(file, 'latin1')}\n})`, {
    filename: file,
    columnOffset: -HEAD.length,
    ...(cachedData && { cachedData }),
  });
  const here = { dirname: dirname(file), url: pathToFileURL(file).href };
  const requirePackage = createRequire(file);
  const require = (name: string): unknown =>
    name.startsWith('./') ? load(join(here.dirname, name)) : requirePackage(name);
  (script.runInThisContext() as Evaluate)(module, require, here);
  return module.exports;
}

/** Where V8's code has the hash of the flags for which it was compiled. */
const FLAGS_AT = 12;

/**
 * V8's code of a file. The file's name has a hash of its content; `undefined` if the build ran another Node. After the
 * code, the file has the hash of the flags that `guardRegexes` leaves, for which the code is right as well.
 */
function codeOf(file: string): Buffer | undefined {
  try {
    const kept = readFileSync(`${file}.${process.version}-${process.arch}`);
    const code = kept.subarray(0, -4);
    const guarded = kept.readUInt32LE(code.length);
    const present = new Script('', {}).createCachedData().readUInt32LE(FLAGS_AT);
    if (present === guarded) code.writeUInt32LE(guarded, FLAGS_AT);
    return code;
  } catch {
    return undefined;
  }
}
