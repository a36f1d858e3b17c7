import type { RestDatabase } from '../database.ts';
import { catalogueSteps } from '../catalogue-steps.ts';
import type { ConnectionTarget, DbrestPass } from '../dsn/index.ts';
import { CatalogueWriter, inSlices, SchemaCache, schemaOf } from '../schema/index.ts';
import type { Schema } from '../schema/index.ts';
import type { Step } from '../session/index.ts';
import { openSession } from '../session/index.ts';

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
  if (pass.kind === 'embedded')
    throw new SchemaUnread(
      'which needs the schema: the embedded database is there only while the gateway runs',
    );
  try {
    return await inSlices(schemaOf({ catalogue: await readCatalogue(pass.target), reads: 0 }));
  } catch (error) {
    throw new SchemaUnread(`which needs the schema, and that cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** On a connection of its own that can change nothing. */
async function readCatalogue(target: ConnectionTarget): Promise<SharedArrayBuffer> {
  const { default: pg } = await import('pg');
  const session = await openSession(pg, target, () => undefined);
  try {
    const sink = new CatalogueWriter();
    await session.run([BEGIN, ...catalogueSteps(sink)], PATIENCE_MS);
    return sink.finish();
  } finally {
    await session.end();
  }
}
