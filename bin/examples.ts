import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { columns } from './terminal.ts';

/** Returns the root directory of the installation, found upwards because bundles are at different depths. */
export function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('the installation has no package.json');
    directory = parent;
  }
  return directory;
}

/** Returns the path of what a release says of itself; a checkout has no such file. */
export function releaseFile(): string {
  return join(packageRoot(), 'dist/release.json');
}

const SUFFIX = '.conf';

/** Returns the names of the examples in the installation, without suffix. */
export function exampleNames(): readonly string[] {
  return readdirSync(directory())
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => withoutSuffix(file))
    .sort();
}

function exampleText(name: string): string {
  return readFileSync(join(directory(), name + SUFFIX), 'utf8');
}

/** Returns a name without the suffix of the file. */
function withoutSuffix(name: string): string {
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}

function directory(): string {
  return join(packageRoot(), 'conf/examples');
}

/** `gw example [NAME]`: prints an example configuration, or their list. Exit code 2: there is no such example. */
export function example(name: string | undefined, { json }: { readonly json?: boolean }): number {
  const names = exampleNames();
  if (name === undefined) {
    const listed = names.map((each) => ({ name: each, summary: summaryOf(exampleText(each)) }));
    process.stdout.write(
      json === true
        ? `${JSON.stringify(listed, undefined, 2)}\n`
        : columns(listed.map(({ name: each, summary }) => [each, summary])),
    );
    return 0;
  }
  const wanted = withoutSuffix(name);
  if (!names.includes(wanted)) {
    process.stderr.write(`gw: there is no example "${name}"\n  expected ${names.join(', ')}\n`);
    return 2;
  }
  process.stdout.write(exampleText(wanted));
  return 0;
}

/** Returns the first sentence of an example's initial comment. */
function summaryOf(text: string): string {
  const comment = /^(?:#.*\n)*/.exec(text)?.[0] ?? '';
  const sentences = comment.replace(/^#\s?/gm, '').replace(/\s+/g, ' ').trim();
  return /^(.*?)\.(?: |$)/.exec(sentences)?.[1] ?? sentences;
}
