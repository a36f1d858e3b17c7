import type { RestDatabase } from '../database.ts';
import type { Schema } from '../schema/index.ts';

/**
 * Plans against the schema as known, and once more against a fresh one when a name is unknown; a promise only where one of
 * them has to be waited for.
 */
export function withSchema<T>({ schema }: RestDatabase, plan: (known: Schema) => T): T | Promise<T> {
  const attempt = (known: Schema): T | Promise<T> => {
    try {
      return plan(known);
    } catch (error) {
      return schema.newerThan(known).then((fresh) => {
        if (!fresh) throw error;
        return plan(fresh);
      });
    }
  };
  const current = schema.current();
  return current instanceof Promise ? current.then(attempt) : attempt(current);
}
