import { resolve } from 'node:path';
import { placeOf } from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';

/** The value comes from somewhere else, and may not be there yet. */
const REFERENCE = /\$\{(?:env|file):/;

/**
 * The text with every directive as a comment that a load would refuse, so that the rest of it loads; and what they are. The
 * other program may take values that gw does not.
 */
export function commentRefused(text: string): { readonly text: string; readonly refused: readonly string[] } {
  const { report } = load({
    confFile: resolve('imported.conf'),
    name: 'imported.conf',
    prefix: resolve('.'),
    text,
  });
  const lines = text.split('\n');
  const refused: string[] = [];
  for (const { severity, message, span } of report.faults) {
    const at = span && severity === 'emerg' ? placeOf(span).line - 1 : -1;
    const [, indent, directive] = /^(\s*)(\w+) .*;$/.exec(lines[at] ?? '') ?? [];
    if (indent === undefined || directive === undefined || REFERENCE.test(lines[at] ?? '')) continue;
    refused.push(directive);
    lines[at] = `${indent}# Not carried over: ${message}.\n${indent}# ${(lines[at] ?? '').trim()}`;
  }
  return { text: lines.join('\n'), refused };
}
