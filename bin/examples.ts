import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './installation.ts';
import { columns } from './terminal.ts';

const SUFFIX = '.conf';

/** Returns the names of the examples in the installation, without suffix. */
export function exampleNames(): readonly string[] {
  return readdirSync(directory())
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => withoutSuffix(file))
    .sort();
}

function exampleText(name: string): string {
  return textOf(name + SUFFIX);
}

function textOf(file: string): string {
  return readFileSync(join(directory(), file), 'utf8');
}

/** True for a file that an example reads. */
function isBesideExamples(file: string): boolean {
  return !file.endsWith(SUFFIX) && readdirSync(directory()).includes(file);
}

/** Returns a name without the suffix of the file. */
function withoutSuffix(name: string): string {
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}

function directory(): string {
  return join(packageRoot(), 'conf/examples');
}

/** `gw example [NAME]`: prints an example configuration or a file that one reads, or the list of examples. Exit code 2: there is no such example. */
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
    if (isBesideExamples(name)) {
      process.stdout.write(textOf(name));
      return 0;
    }
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
