import { Report } from './diagnostic.ts';
import { startOfNext } from './missing-end.ts';
import { parseSource } from './parser.ts';
import type { Source } from './source.ts';
import type { DirectiveNode } from './tree.ts';

type IsKnown = (name: string) => boolean;

/**
 * The directives of one text as far as they can be made out, whatever is wrong with it: for editors. `include` is still a
 * directive in it, and `${env:…}` is not expanded.
 */
export function outlineOf(source: Source, knownDirective: IsKnown): readonly DirectiveNode[] {
  const report = new Report();
  const expand = <T>(word: T): T => word;
  const opensBlock = () => false;
  const input = { source, report, knownDirective, opensBlock, expand, isParameter: false, depth: 0 };
  return split(parseSource(input).directives, knownDirective);
}

/** What looks like two directives of which the first lacks its `;` becomes two. */
function split(nodes: readonly DirectiveNode[], knownDirective: IsKnown): readonly DirectiveNode[] {
  return nodes.flatMap((node) => {
    const { args, block, name, span } = node;
    const at = startOfNext(node, knownDirective);
    const next = args[at];
    if (!next) return block ? { ...node, block: split(block, knownDirective) } : node;
    const end = (args[at - 1] ?? name).span.end;
    const rest = { name: next, args: args.slice(at + 1), span: { ...span, start: next.span.start } };
    return [
      { name, args: args.slice(0, at), span: { ...span, end } },
      ...split([{ ...rest, ...(block && { block }) }], knownDirective),
    ];
  });
}
