import type { Exchange } from '../../../http/index.ts';
import type { RestDatabase } from '../database.ts';
import type { Schema } from '../schema/index.ts';
import type { WireError } from '../session/index.ts';

/** A schema that changes faster than that is not run after. */
const MOST_REPEATS = 3;
/** No such column, table or schema: every name was in the schema that the statement was made from. */
const GONE: ReadonlySet<string> = new Set(['42703', '42P01', '3F000']);
/** So does a client fail who compares text with numbers: reloads for that are rationed. */
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
  { code = '', where }: WireError,
): Promise<boolean> {
  if (where !== undefined || !(GONE.has(code) || PERHAPS_GONE.has(code))) return false;
  if (!seen || schema.known !== seen) return schema.known !== undefined;
  if (PERHAPS_GONE.has(code)) return (await schema.newerThan(seen)) !== undefined;
  await schema.refresh();
  return schema.known !== seen;
}
