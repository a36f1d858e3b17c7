import { createHash } from 'node:crypto';
import { placeOf } from '../../grammar/index.ts';
import type { ReadScope } from '../config/index.ts';
import type { ServerName } from './core-config.ts';

/** The location whose block has a directive; what is inside it and has none of its own is counted together with it. */
export interface CountedLocation {
  readonly match: string;
  /** `file:line` of the directive. */
  readonly place: string;
}

/** Returns the location whose block has the directive that is read. */
export function countedLocation({ block, span }: ReadScope): CountedLocation {
  const { file, line } = placeOf(span);
  return { match: JSON.stringify(block.args), place: `${file}:${line}` };
}

/**
 * Returns a short text that identifies a location in shared memory: by the names of its server and what it matches, so that counts
 * outlive changes of the file. Servers without names are told apart by the place of the directive.
 */
export function countedAs({ match, place }: CountedLocation, names: readonly ServerName[]): string {
  const isNamed = names.some((server) => server.kind !== 'exact' || server.name !== '');
  const text = `${isNamed ? JSON.stringify(names) : place} ${match}`;
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
