import type pg from 'pg';
import {
  CATALOGUE_SQL,
  CatalogueWriter,
  type Schema,
  schemaOf,
} from '../../../src/modules/dbrest/schema/index.ts';
import { inSlices } from '../../../src/modules/dbrest/event-loop.ts';

/** The schema that the module reads from a database at first. */
export async function readSchema(client: pg.Client): Promise<Schema> {
  await client.query("begin; set local search_path = ''");
  const { rows } = await client.query<string[]>({ text: CATALOGUE_SQL, rowMode: 'array' });
  await client.query('commit');
  const writer = new CatalogueWriter();
  writer.begin();
  for (const row of rows) await writer.row(row);
  return inSlices(schemaOf({ catalogue: writer.finish(), reads: 1, beganMs: 0 }));
}
