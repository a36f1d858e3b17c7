/** Builds unless the last build is newer than all sources, and says which of the two. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = ['bin', 'grammar', 'src', 'package-lock.json'];
/** Written by `bundle.mjs` at the end of a build: the version of Node.js that it ran. */
const STAMP = 'dist/built';

if (isFresh()) console.error('the build is up to date');
else {
  console.error('building gw: a few seconds');
  await import('./bundle.mjs');
}

function isFresh() {
  try {
    const builtMs = statSync(STAMP).mtimeMs;
    return (
      readFileSync(STAMP, 'utf8') === process.version && SOURCES.every((path) => newestMs(path) < builtMs)
    );
  } catch {
    return false;
  }
}

/** The time of the last change of a file, or below a directory, whose own time changes when a file is removed. */
function newestMs(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}
