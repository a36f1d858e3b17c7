import { placeOf } from '../../grammar/index.ts';
import type { Span } from '../../grammar/index.ts';

/** The hint of everything that may stand only once: `first set at gw.conf:3`; `undefined` without a place. */
export function firstAt(span: Span | undefined, verb: 'set' | 'declared'): string | undefined {
  if (!span) return undefined;
  const { file, line } = placeOf(span);
  return `first ${verb} at ${file}:${line}`;
}
