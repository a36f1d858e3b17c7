import { catalogueSteps } from '../database/index.ts';
import type { DbrestPass } from '../directives/index.ts';
import { CatalogueWriter, type Schema, schemaOf } from '../schema/index.ts';
import type { RunStep } from '../session/index.ts';
import { inSlices } from '../event-loop.ts';
import { withDatabase } from './open-database.ts';

const TIMEOUT_MS = 30_000;
/** A transaction that begins and ends with its batch: some poolers have no others. */
const READ_ONLY: RunStep = {
  statement: { text: `select pg_catalog.set_config('transaction_read_only', 'on', true)`, values: [] },
};

/** Reads the schema cache of a database once. Rejects with a message of one line if the database cannot be read. */
export async function readSchema(pass: DbrestPass | undefined): Promise<Schema> {
  if (!pass) throw new Error('the location serves no database');
  const catalogue = await withDatabase(pass, async (session) => {
    const sink = new CatalogueWriter();
    await session.run([READ_ONLY, ...catalogueSteps(sink)], TIMEOUT_MS);
    return sink.finish();
  });
  return inSlices(schemaOf({ catalogue, reads: 1, beganMs: 0 }));
}
