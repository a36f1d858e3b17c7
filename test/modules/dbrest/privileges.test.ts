import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { readSchema } from './read-schema.ts';

let db: TestDatabase;
let schema: Schema;
const id = randomUUID().slice(0, 8);
const role = (name: string): string => `${name}_${id}`;

/** Roles in a chain, one of them without inheritance, and a membership without inheritance where the server has it. */
beforeAll(async () => {
  const names = ['leaf', 'silent', 'middle', 'top', 'aside'].map(role);
  const [leaf, silent, middle, top, aside] = names;
  db = await postgres();
  await db.query(`
    create role ${leaf}; create role ${silent} noinherit; create role ${middle}; create role ${top}; create role ${aside};
    grant ${top} to ${middle}; grant ${middle} to ${silent}; grant ${middle} to ${leaf}; grant ${silent} to ${leaf};
    do $$ begin
      if current_setting('server_version_num')::int >= 160000 then
        execute 'grant ${aside} to ${leaf} with inherit false';
      else
        execute 'grant ${aside} to ${silent}';
      end if;
    end $$;
    grant ${leaf}, ${silent}, ${middle} to authenticator;`);
  const client = new pg.Client({ connectionString: db.dsn });
  await client.connect();
  schema = await readSchema(client);
  await client.end();
});

afterAll(async () => {
  const names = ['leaf', 'silent', 'middle', 'top', 'aside'].map(role);
  await db.query(`drop role ${names.join(', ')}`);
});

const cases: [name: string, has: string[], lacks: string[]][] = [
  ['leaf', ['leaf', 'silent', 'middle', 'top'], ['aside']],
  ['silent', ['silent'], ['middle', 'top', 'aside']],
  ['middle', ['middle', 'top'], ['leaf']],
];
test.each(cases)('%s has the privileges of the same roles as in the server', async (name, has, lacks) => {
  const known = schema.roles.get(role(name)) as ReadonlySet<string>;
  const oids = await db.query<{ rolname: string; oid: string; used: boolean }>(
    `select rolname, oid::text, pg_has_role($1, oid, 'usage') as used from pg_roles`,
    [role(name)],
  );
  const holds = (other: string) => known.has(oids.find(({ rolname }) => rolname === role(other))?.oid ?? '');
  expect(has.filter((other) => !holds(other))).toEqual([]);
  expect(lacks.filter(holds)).toEqual([]);
  expect(oids.filter(({ oid, used }) => known.has(oid) !== used)).toEqual([]);
});
