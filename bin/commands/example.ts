import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import { columns } from '../terminal-text.ts';

const SUFFIX = '.conf';

/** `gw example [NAME]`: a configuration to start from; without a name, which there are. 2: there is none of this name. */
export function example(name: string | undefined, { json }: { readonly json?: boolean }): number {
  const directory = join(packageRoot(), 'conf/examples');
  const names = readdirSync(directory)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .sort();
  if (name === undefined) {
    const listed = names.map((each) => ({ name: each, summary: summaryOf(textOf(each, directory)) }));
    process.stdout.write(
      json === true
        ? `${JSON.stringify(listed, undefined, 2)}\n`
        : columns(listed.map(({ name: each, summary }) => [each, summary])),
    );
    return 0;
  }
  const wanted = name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
  if (!names.includes(wanted)) {
    process.stderr.write(`gw: there is no example "${name}"\n  expected ${names.join(', ')}\n`);
    return 2;
  }
  process.stdout.write(textOf(wanted, directory));
  return 0;
}

function textOf(name: string, directory: string): string {
  return readFileSync(join(directory, name + SUFFIX), 'utf8');
}

/** The first sentence of the comment that an example begins with. */
function summaryOf(text: string): string {
  const comment = /^(?:#.*\n)*/.exec(text)?.[0] ?? '';
  const sentences = comment.replace(/^#\s?/gm, '').replace(/\s+/g, ' ').trim();
  return /^(.*?)\.(?: |$)/.exec(sentences)?.[1] ?? sentences;
}
