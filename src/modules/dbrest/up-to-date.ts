import type { Exchange } from '../../http/index.ts';
import type { RestDatabase } from './database.ts';
import type { Schema } from './schema/index.ts';
import type { WireError } from './session/index.ts';

/** A schema that changes faster than that is not run after. */
const MOST_REPEATS = 3;
/**
 * No such column, table or schema. Every name in a statement is one of the schema that it was made from: where the server
 * points at one, that has changed. Without a position the value of a request is to blame, as a cast to `regclass` is.
 */
const GONE: ReadonlySet<string> = new Set(['42703', '42P01', '3F000']);
/** So does a client fail who compares text with numbers. */
const PERHAPS_GONE: ReadonlySet<string> = new Set(['42883', '42804', '42P10', '428C9']);

/**
 * Runs a request; once more when the server refused its statement because the schema has changed since it was read. Nothing
 * of the request was done then: a batch is one transaction, and it failed before its main statement ran.
 */
export function upToDate(database: RestDatabase, x: Exchange, operate: () => Promise<void>): Promise<void> {
  const attempt = (repeats: number): Promise<void> => {
    const seen = database.schema.known;
    return operate().catch(async (error: unknown) => {
      const isOver = repeats === MOST_REPEATS || x.done || x.aborted;
      if (isOver || !(await isOutdated(database, seen, error as WireError))) throw error;
      return attempt(repeats + 1);
    });
  };
  return attempt(0);
}

/** What comes from within a function or a trigger says nothing of the statement that called it. */
async function isOutdated(
  { schema }: RestDatabase,
  seen: Schema | undefined,
  { code = '', severity, where, position }: WireError,
): Promise<boolean> {
  if (severity === undefined || where !== undefined) return false;
  const isGone = GONE.has(code) && position !== undefined;
  if (!isGone && !PERHAPS_GONE.has(code)) return false;
  if (!seen || schema.known !== seen) return schema.known !== undefined;
  return (await (isGone ? schema.successorOf(seen) : schema.newerThan(seen))) !== undefined;
}
