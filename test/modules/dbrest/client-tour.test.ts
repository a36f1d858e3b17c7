import {
  PostgrestBuilder,
  PostgrestClient,
  PostgrestError,
  PostgrestFilterBuilder,
  PostgrestQueryBuilder,
  PostgrestTransformBuilder,
} from '@supabase/postgrest-js';
import { createClient } from '@supabase/supabase-js';
import { beforeAll, describe, expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { FILTERS } from './client-tour/filters.ts';
import {
  type AnyTables,
  type Call,
  ORCHESTRA,
  type TourClient,
  type Version,
} from './client-tour/orchestra.ts';
import { READS } from './client-tour/reads.ts';
import { CALLS, WRITES } from './client-tour/writes.ts';

const BUILDERS = {
  PostgrestClient,
  PostgrestQueryBuilder,
  PostgrestFilterBuilder,
  PostgrestTransformBuilder,
  PostgrestBuilder,
};

/** The methods of the library, and those that the tests of this file have called. */
const methods: string[] = [];
const called = new Set<string>();

/** Notes each call of a method of the library. */
function observe(): void {
  for (const [name, { prototype }] of Object.entries(BUILDERS)) {
    for (const key of Object.getOwnPropertyNames(prototype)) {
      const own = Object.getOwnPropertyDescriptor(prototype, key)?.value as unknown;
      if (key === 'constructor' || typeof own !== 'function') continue;
      const method = `${name}.${key}`;
      methods.push(method);
      Object.defineProperty(prototype, key, {
        configurable: true,
        value(this: unknown, ...args: readonly unknown[]): unknown {
          called.add(method);
          return Reflect.apply(own, this, args) as unknown;
        },
      });
    }
  }
}

/** On Node 20 the library requires a WebSocket class; no test uses it. */
const NO_SOCKET = { transport: class extends EventTarget {} as never };

const file = wholeFile();
let url: string;
let deadUrl: string;
let client: TourClient;
let database: TestDatabase;
beforeAll(async () => {
  observe();
  database = await postgres(ORCHESTRA);
  const { dsn } = database;
  const gw = await startGateway(
    file,
    `server {
      location /rest/v1/ {
        dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_schemas "public, backstage"; dbrest_plan on;
        dbrest_tx_end commit-allow-override; dbrest_timeout 10m;
      }
      location /dead/ { dbrest_pass postgresql://me@127.0.0.1:${await freePort()}/db; dbrest_anon_role anon; }
    }`,
  );
  url = `${gw.url}/rest/v1`;
  deadUrl = `${gw.url}/dead`;
  client = new PostgrestClient<AnyTables, Version>(url);
});

const tour: Readonly<Record<string, readonly Call[]>> = {
  filters: FILTERS,
  reads: READS,
  writes: WRITES,
  calls: CALLS,
};
for (const [part, calls] of Object.entries(tour)) {
  describe(part, () => {
    for (const { it, run, gives } of calls) {
      test(it, async () => expect(await run(client)).toMatchObject(gives));
    }
  });
}

for (const { it, run, gives } of READS) {
  test(`with supabase-js: ${it}`, async () => {
    const supabase = createClient<AnyTables, Version>(url.replace('/rest/v1', ''), 'key', {
      realtime: NO_SOCKET,
    });
    expect(await run(supabase.schema('public'))).toMatchObject(gives);
  });
}

test('throwOnError rejects with the fault of the gateway', async () => {
  const read = client.from('nowhere').select().throwOnError();
  await expect(read).rejects.toBeInstanceOf(PostgrestError);
  await expect(client.from('nowhere').select().throwOnError()).rejects.toMatchObject({ code: 'PGRST205' });
  const fine = await client.from('sections').select('id').eq('id', 1).single().throwOnError();
  expect(fine.data).toEqual({ id: 1 });
});

test('abortSignal ends a request, and its query', async () => {
  const running = async (): Promise<number> => {
    const [row] = await database.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and state = 'active' and wait_event = 'PgSleep'`,
    );
    return row?.n ?? 0;
  };
  const abort = new AbortController();
  const call = client
    .rpc('sleeps')
    .abortSignal(abort.signal)
    .then((response) => response);
  await expect.poll(running, { timeout: 30_000 }).toBe(1);
  abort.abort();
  expect(await call).toMatchObject({
    data: null,
    status: 0,
    error: { hint: expect.stringMatching(/abort/) as string },
  });
  await expect.poll(running, { timeout: 30_000 }).toBe(0);
  expect(await client.rpc('hello')).toMatchObject({ error: null, data: 'hello' });
});

test('setHeader sends a header', async () => {
  const { data } = await client.from('sections').select('name').eq('id', 1).setHeader('Accept', 'text/csv');
  expect(data).toBe('name\nstrings');
});

test('a read that finds no database is repeated when the gateway says so, unless retry is off', async () => {
  const counts: (string | null)[] = [];
  // The first request reaches a location whose database is gone.
  const flaky: typeof fetch = (target, init) => {
    counts.push(new Headers(init?.headers).get('x-retry-count'));
    const text = String(target instanceof Request ? target.url : target);
    return fetch(counts.length === 1 ? text.replace(url, deadUrl) : text, init);
  };
  const read = () => new PostgrestClient(url, { fetch: flaky }).from('sections').select('id').eq('id', 1);
  expect(await read().retry(false)).toMatchObject({ status: 503, error: { code: 'PGRST000' } });
  expect(counts).toEqual([null]);
  counts.length = 0;
  expect(await read()).toMatchObject({ error: null, data: [{ id: 1 }] });
  expect(counts).toEqual([null, '1']);
});

test('an unknown table, column and function are errors with codes', async () => {
  const [table, column, called_] = await Promise.all([
    client.from('nowhere').select(),
    client.from('sections').select('nothing'),
    client.rpc('nobody'),
  ]);
  expect(table).toMatchObject({ status: 404, error: { code: 'PGRST205' } });
  expect(column).toMatchObject({ status: 400, error: { code: '42703' } });
  expect(called_).toMatchObject({ status: 404, error: { code: 'PGRST202' } });
});

test('getOpenApiSpec, which versions since 2.110 have, gets the description of a schema', async () => {
  const headers = (schema: string) => ({ Accept: 'application/openapi+json', 'Accept-Profile': schema });
  const shown = await fetch(`${url}/`, { headers: headers('public') });
  expect(await shown.json()).toMatchObject({ openapi: '3.1.0', paths: { '/sections': { get: {} } } });
  const hidden = await fetch(`${url}/`, { headers: headers('nowhere') });
  expect([hidden.status, await hidden.json()]).toMatchObject([406, { code: 'PGRST106' }]);
});

test('the tour calls every method of the library', () => {
  // Each builder is a filter builder with narrower types, so that a method that is overridden is not reached.
  const unreachable = ['PostgrestBuilder.returns'];
  expect(methods.filter((method) => !called.has(method))).toEqual(unreachable);
});
