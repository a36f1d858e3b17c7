import type { Span } from '../../../grammar/index.ts';
import { locationText } from '../../plan/index.ts';
import { encodePath } from '../../http/index.ts';
import type { Place } from './tree.ts';

/** A location as messages name it, in double quotes. */
export function named({ match }: Place): string {
  return `"${locationText(match)}"`;
}

/** Where a location says what it matches. */
export function wordsOf({ block }: Place): Span {
  const { name, args } = block.node!;
  const last = args.at(-1) ?? name;
  return { ...last.span, start: (args[0] ?? name).span.start };
}

/** A decoded path as a client sends it. */
export function shownUri(uri: string): string {
  return encodePath(uri);
}
