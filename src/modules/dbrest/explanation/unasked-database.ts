import type { RestDatabase } from '../database.ts';
import { catalogueSteps } from '../catalogue-steps.ts';
import type { DbrestPass } from '../dsn/index.ts';
import { CatalogueWriter, inSlices, SchemaCache, schemaOf } from '../schema/index.ts';
import type { Schema } from '../schema/index.ts';
import type { Session, Step } from '../session/index.ts';
import { withDatabase } from '../tools/index.ts';

/** What reading a catalogue may take. */
const PATIENCE_MS = 30_000;
const BEGIN: Step = { statement: { text: 'begin read only', values: [] }, silent: true };

/** Statements have come to where they would be sent. */
export class Asked extends Error {
  readonly steps: readonly Step[];

  constructor(steps: readonly Step[]) {
    super('a database that is not to be asked was asked');
    this.steps = steps;
  }
}

/** The schema is not known, and with it which statements a request makes. */
export class SchemaUnread extends Error {}

/** A database that answers nothing but what its schema is, and that only where it may be opened. */
export function unaskedDatabase(pass: DbrestPass, live: boolean): RestDatabase {
  const schema = new SchemaCache(() => readSchema(pass, live));
  const ask = (steps: readonly Step[]): Promise<never> => Promise.reject(new Asked(steps));
  return {
    schema,
    read: ask,
    write: ask,
    facts: () => Promise.reject(new SchemaUnread('which depends on what the server supports')),
  };
}

async function readSchema(pass: DbrestPass, live: boolean): Promise<Schema> {
  if (!live) throw new SchemaUnread('which needs the schema: "--live" reads it');
  try {
    return await inSlices(schemaOf({ catalogue: await withDatabase(pass, readCatalogue), reads: 0 }));
  } catch (error) {
    throw new SchemaUnread(`which needs the schema, and that cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** In a transaction that can change nothing. */
async function readCatalogue(session: Session): Promise<SharedArrayBuffer> {
  const sink = new CatalogueWriter();
  await session.run([BEGIN, ...catalogueSteps(sink)], PATIENCE_MS);
  return sink.finish();
}
