import type { Database } from '../database.ts';
import type { Schema } from '../schema/index.ts';

/** Plans against the schema as known, and once more against a fresh one when a name is unknown. */
export async function withSchema<T>({ schema }: Database, plan: (known: Schema) => T): Promise<T> {
  const current = schema.current();
  const known = current instanceof Promise ? await current : current;
  try {
    return plan(known);
  } catch (error) {
    const fresh = await schema.newerThan(known);
    if (!fresh) throw error;
    return plan(fresh);
  }
}
