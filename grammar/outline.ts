import { Report } from './diagnostic.ts';
import { parseSource } from './parser.ts';
import type { Source } from './source.ts';
import type { DirectiveNode } from './tree.ts';

/**
 * The directives of one text as far as they can be made out, whatever is wrong with it: for editors. `include` is still a
 * directive in it, and `${env:…}` is not expanded.
 */
export function outlineOf(
  source: Source,
  knownDirective: (name: string) => boolean,
): readonly DirectiveNode[] {
  const report = new Report();
  const expand = <T>(word: T): T => word;
  return parseSource({ source, report, knownDirective, expand, isParameter: false, depth: 0 }).directives;
}
