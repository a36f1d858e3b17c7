import { createHash } from 'node:crypto';
import { placeOf } from '../../grammar/index.ts';
import type { ReadScope } from '../config/index.ts';
import type { ServerName } from './core-config.ts';

/** The location whose block has a directive. Blocks inside it without a directive of their own are counted with it. */
export interface CountedLocation {
  readonly match: string;
  /** `file:line` of the directive. */
  readonly place: string;
}

/** Returns the location whose block has the directive that is being read. */
export function countedLocation({ block, span }: ReadScope): CountedLocation {
  const { file, line } = placeOf(span);
  return { match: JSON.stringify(block.args), place: `${file}:${line}` };
}

/**
 * Returns a short text that identifies a location in shared memory by its server's names and its pattern, so that
 * counts outlive changes of the file. If the server has no name, it contains the directive's place.
 */
export function countedAs({ match, place }: CountedLocation, names: readonly ServerName[]): string {
  const isNamed = names.some((server) => server.kind !== 'exact' || server.name !== '');
  const text = `${isNamed ? JSON.stringify(names) : place} ${match}`;
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
