import type { Report, Span } from '../../../grammar/index.ts';
import { type BoundBlock, firstAt } from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';

/** Checks nginx's rules for nested locations, and that no two locations of one block are the same. */
export function checkNesting(parent: BoundBlock, children: readonly BoundBlock[], report: Report): void {
  const outer = parent.context === 'location' ? (parent.args as LocationMatch) : undefined;
  const seen = new Map<string, Span | undefined>();
  for (const child of children) {
    const match = child.args as LocationMatch;
    const span = child.node?.args.at(-1)?.span ?? child.node?.name.span;
    const fault = outer && nestingFault(match, outer);
    if (fault !== undefined) report.emerg(fault, span, { rule: 'wrong-context' });
    const key = identity(match);
    if (key === undefined) continue;
    const isFirst = !seen.has(key);
    if (isFirst) seen.set(key, span);
    else {
      const first = firstAt(seen.get(key), 'set', 'duplicate-location');
      report.emerg(`duplicate location "${nameOf(match)}"`, span, first);
    }
  }
}

function nestingFault(inner: LocationMatch, outer: LocationMatch): string | undefined {
  const names = `location "${nameOf(inner)}"`;
  if (outer.kind === 'exact') return `${names} cannot be inside the exact location "${outer.path}"`;
  if (outer.kind === 'named') return `${names} cannot be inside the named location "${outer.name}"`;
  if (inner.kind === 'named') return `named ${names} can be on the server level only`;
  if (inner.kind === 'regex' || outer.kind === 'regex') return undefined;
  return inner.path.startsWith(outer.path) ? undefined : `${names} is outside location "${outer.path}"`;
}

/**
 * Returns the identity of a location. Regexes may repeat (the first match wins), so they have no identity. `^~` and a
 * plain prefix are the same location.
 */
function identity(match: LocationMatch): string | undefined {
  if (match.kind === 'regex') return undefined;
  return match.kind === 'named' ? match.name : `${match.kind} ${match.path}`;
}

function nameOf(match: LocationMatch): string {
  if (match.kind === 'regex') return match.regex.pattern;
  return match.kind === 'named' ? match.name : match.path;
}
