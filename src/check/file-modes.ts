import { statSync } from 'node:fs';

const WORLD_READABLE = 0o004;
/** Containers get their secrets there, readable by all that runs in them. */
const SECRETS = /^(?:\/var)?\/run\/secrets\//;

/** How chmod calls the mode of a file that every user of the machine may read, else `undefined`. */
export function worldReadableMode(path: string): string | undefined {
  if (SECRETS.test(path)) return undefined;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & WORLD_READABLE) === 0 ? undefined : (mode & 0o777).toString(8).padStart(4, '0');
}
