import { afterAll, beforeAll } from 'vitest';
import pg from 'pg';
import { DbrestFault } from '../../../src/modules/dbrest/fault/index.ts';
import { planRead, type ReadTarget } from '../../../src/modules/dbrest/plan/index.ts';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';
import { shapedSql, countedSql, Parameters } from '../../../src/modules/dbrest/sql/index.ts';
import { postgres } from '../../harness/postgres.ts';
import { readSchema } from './read-schema.ts';

/** A read, from its query string to its rows, without the handler. */
export interface Pipeline {
  readonly schema: Schema;
  /** `table?query`: the rows, as the role `anon`. Throws a `DbrestFault` or the server's error. */
  rows(request: string, options?: Partial<ReadTarget>): Promise<unknown>;
  sql(request: string, options?: Partial<ReadTarget>): string;
  /** How many rows there are without limit and offset. */
  count(request: string): Promise<number>;
  query(sql: string): Promise<unknown[]>;
}

/** For the tests of one file; opened before the first test and closed after the last. */
export function pipeline(fixture: string): { readonly it: Pipeline } {
  const opened: { it?: Pipeline; client?: pg.Client } = {};
  beforeAll(async () => {
    const { dsn, query } = await postgres(fixture);
    const client = new pg.Client({ connectionString: dsn });
    await client.connect();
    opened.client = client;
    const schema = await readSchema(client);
    await client.query('set role anon');
    opened.it = pipelineOf(client, schema, query);
  });
  afterAll(() => opened.client?.end());
  return opened as { it: Pipeline };
}

function pipelineOf(client: pg.Client, schema: Schema, query: Pipeline['query']): Pipeline {
  const plan = (request: string, options: Partial<ReadTarget> = {}) => {
    const [table = '', args = ''] = request.split(/\?(.*)/s);
    const target = { schema: 'public', table, role: 'anon', ...options };
    return planRead(parseReadQuery(encodeURI(args).replaceAll('+', '%2B')), target, schema);
  };
  return {
    schema,
    query,
    sql: (request, options) => shapedSql(plan(request, options), 'whole').text,
    rows: async (request, options) => {
      const { text, values } = shapedSql(plan(request, options), 'whole');
      const { rows } = await client.query<[string, string]>({ text, values: [...values], rowMode: 'array' });
      const found = JSON.parse(rows[0]?.[0] ?? '') as unknown[];
      if (found.length !== Number(rows[0]?.[1])) throw new Error('the number of rows is not theirs');
      return found;
    },
    count: async (request) => {
      const parameters = new Parameters();
      const text = `select count(*)::int from (${countedSql(plan(request), parameters)}) t`;
      const { rows } = await client.query<[number]>({ text, values: parameters.values, rowMode: 'array' });
      return rows[0]?.[0] ?? 0;
    },
  };
}

/** The fault that a request ends with. */
export async function faultOf(act: () => Promise<unknown>): Promise<DbrestFault> {
  try {
    await act();
  } catch (error) {
    if (error instanceof DbrestFault) return error;
    throw error;
  }
  throw new Error('no fault');
}
