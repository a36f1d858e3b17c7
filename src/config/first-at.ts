import { placeOf } from '../../grammar/index.ts';
import type { FaultDetails, Span } from '../../grammar/index.ts';

/** What is said of everything that may stand only once, with the place of the first: `first set at gw.conf:3`. */
export function firstAt(
  span: Span | undefined,
  verb: 'set' | 'declared',
  rule = 'duplicate-directive',
): FaultDetails {
  if (!span) return { rule };
  const { file, line } = placeOf(span);
  return { rule, hint: `first ${verb} at ${file}:${line}`, related: [{ span, label: `first ${verb} here` }] };
}
