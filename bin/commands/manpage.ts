import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { failureText } from '../failure.ts';
import { manual } from '../shell/manual.ts';
import { wholeFacts } from '../shell/whole-facts.ts';

/** Options of `gw manpage`. */
export interface ManpageOptions {
  readonly out?: string;
}

/** `gw manpage [NAME]`: a page on standard output, or all in a directory. 1: it cannot be written, 2: no such page. */
export function manpage(name: string | undefined, { out }: ManpageOptions, gw: Command): number {
  const pages = manual(wholeFacts(gw));
  const wanted = pages.filter(({ file }) =>
    [file, file.replace(/\.\d$/, '')].includes(name ?? (out === undefined ? 'gw' : file)),
  );
  if (wanted.length === 0) {
    process.stderr.write(
      `gw: there is no page "${name}"\n  expected gw, gw.conf, or a command such as gw-check\n`,
    );
    return 2;
  }
  if (out === undefined) {
    for (const { text } of wanted) process.stdout.write(text);
    return 0;
  }
  try {
    mkdirSync(out, { recursive: true });
    for (const { file, text } of wanted) writeFileSync(join(out, file), text);
    return 0;
  } catch (error) {
    process.stderr.write(`gw: ${failureText(error)}\n`);
    return 1;
  }
}
