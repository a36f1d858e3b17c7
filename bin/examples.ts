import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

const SUFFIX = '.conf';

/** The examples that come with the installation, without the end of their file names. */
export function exampleNames(): readonly string[] {
  return readdirSync(directory())
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => withoutSuffix(file))
    .sort();
}

/** The text of an example. */
export function exampleText(name: string): string {
  return readFileSync(join(directory(), name + SUFFIX), 'utf8');
}

/** A name that somebody gives may have the end of a file name. */
export function withoutSuffix(name: string): string {
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}

function directory(): string {
  return join(packageRoot(), 'conf/examples');
}
