import { beforeAll, beforeEach } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { ReceivedResponse } from '../../harness/http.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

/** `version` is counted by a trigger, `plain` has no such column, `stamped` has odd versions. */
const FIXTURE = `
  create function count_up() returns trigger language plpgsql as $$ begin
    new.version := old.version + 1; return new; end $$;
  create table docs (id int primary key, text text, version int not null default 1);
  create trigger v before update on docs for each row execute function count_up();
  create table parts (id int primary key, doc int references docs on delete cascade, name text);
  create view shown as select id, text, version from docs;
  create table plain (id int primary key, text text);
  create table stamped (id int primary key, version text);
  create table pairs (a int, b int, text text, version int default 1, primary key (a, b));
  create function shout(docs) returns text stable language sql as $$ select upper($1.text) $$;
  grant all on all tables in schema public to anon;`;

/** The rows before each test. */
export const ROWS = `
  truncate docs, parts, plain, stamped, pairs;
  insert into docs values (1, 'one', 1), (2, 'two', 2), (3, 'three', 2);
  insert into parts values (1, 1, 'p');
  insert into plain values (1, 'one');
  insert into stamped values (1, 'a "b", c-d é%41'), (2, null), (3, repeat('x', 500));
  insert into pairs values (1, 1, 'x', 1);`;

export const OBJECT = { accept: 'application/vnd.pgrst.object+json' };
export const SHOWN = { prefer: 'return=representation' };
export const HEADERS_ONLY = { prefer: 'return=headers-only' };
export type Headers = Readonly<Record<string, string>>;

/** A gateway on a database of its own. */
interface TaggedGateway {
  readonly db: TestDatabase;
  send(line: string, headers?: Headers, body?: unknown): Promise<ReceivedResponse>;
  /** The tag of the response to a request; without one, its status and body. */
  tagOf(line: string, headers?: Headers, body?: unknown): Promise<string>;
}

interface TaggedServer {
  readonly fixture: string;
  /** Its locations. `served`: the directives that pass a request to the database. */
  readonly locations: (served: string) => string;
}

/** Starts a gateway, with the cache `rows`, for all tests of a file. */
export function taggedGateway({ fixture, locations }: TaggedServer): () => TaggedGateway {
  const file = wholeFile();
  let db: TestDatabase;
  let gw: Gateway;
  beforeAll(async () => {
    db = await postgres(fixture);
    const server = `server { ${locations(`dbrest_pass ${db.dsn}; dbrest_anon_role anon;`)} }`;
    gw = await startGateway(file, (dir) => `proxy_cache_path ${dir}/cache keys_zone=rows:1m; ${server}`);
  });

  const send: TaggedGateway['send'] = async (line, headers = {}, body) => {
    const [method = '', path = ''] = line.split(' ');
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return gw.fetch(path, { method, headers: { ...type, ...headers }, ...text });
  };

  const tagOf: TaggedGateway['tagOf'] = async (line, headers = {}, body) => {
    const response = await send(line, headers, body);
    return response.headers.get('etag') ?? `none: ${response.status} ${response.body}`;
  };

  return () => ({ db, send, tagOf });
}

/** Starts one whose locations know the versions of rows: `/v/` by a column, `/x/` by xmin, `/no/` not. */
export function versionedGateway(): () => TaggedGateway {
  const gateway = taggedGateway({
    fixture: FIXTURE,
    locations: (served) => `
      location /v/ { ${served} dbrest_row_version version; }
      location /x/ { ${served} dbrest_row_version xmin; }
      location /no/ { ${served} }
      location /bare/ { ${served} dbrest_row_version version; dbrest_etag off; }
      location /stored/ { ${served} dbrest_row_version version; dbrest_cache rows; dbrest_cache_valid 1m;
        dbrest_cache_listen off; }`,
  });
  beforeEach(async () => {
    await gateway().db.query(ROWS);
  });
  return gateway;
}
