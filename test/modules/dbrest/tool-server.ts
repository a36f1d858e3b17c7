import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, beforeEach, expect } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { ReceivedResponse } from '../../harness/http.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create type mood as enum ('sad', 'ok');
  create table makers (id int primary key, name text not null);
  create table films (
    id bigint primary key, title text not null, maker int references makers, mood mood default 'ok', tags text[], data jsonb,
    "a ""b" text
  );
  comment on table films is 'All films';
  comment on column films.title is 'As on the poster';
  create table notes (id int primary key, owner name default current_user, text text);
  alter table notes enable row level security;
  create policy own on notes using (owner = current_user) with check (owner = current_user);
  create table hidden (id int);
  create table "rpc/add_film" (id int);
  create view numbers as select i as id from generate_series(1, 5000) i;
  create view wide as select i as id, repeat('x', 10000) as text from generate_series(1, 500) i;
  create function film_count(min_id bigint default 0) returns bigint stable language sql
    as $$ select count(*) from films where id >= min_id $$;
  comment on function film_count is 'Counts films';
  create function add_film(id bigint, title text) returns films volatile language sql
    as $$ insert into films (id, title) values ($1, $2) returning * $$;
  create function mixed(a int) returns int stable language sql as $$ select 1 $$;
  create function mixed(b text) returns int volatile language sql as $$ insert into hidden values (1); select 2 $$;
  create function for_users() returns text stable language sql as $$ select current_user::text $$;
  create function "odd / name!"() returns int immutable language sql as $$ select 1 $$;
  create function "ödd name!"() returns int immutable language sql as $$ select 7 $$;
  create function a_very_long_name_of_a_function_that_takes_all_sixty_three_bytes_() returns int immutable language sql as $$ select 1 $$;
  create function refuse() returns void stable language plpgsql as $$ begin raise sqlstate 'PT418' using message = 'a teapot'; end $$;
  revoke execute on all functions in schema public from public;
  grant execute on function film_count, add_film, mixed(int), mixed(text), "odd / name!", "ödd name!", refuse,
    a_very_long_name_of_a_function_that_takes_all_sixty_three_bytes_ to anon, web_user;
  grant execute on function for_users to web_user;
  grant select on makers, films, numbers, wide, "rpc/add_film" to anon, web_user;
  grant select, insert, update, delete on notes, films to web_user;
  do $$ begin
    for i in 1..150 loop
      execute format('create function many_%s() returns int immutable language sql as ''select 1''', i);
      execute format('revoke execute on function many_%s from public', i);
    end loop;
  end $$;
  create role many;
  grant many to authenticator;
  do $$ begin for i in 1..150 loop execute format('grant execute on function many_%s to many', i); end loop; end $$;
  create schema second;
  create table second.things (id int primary key);
  create function second.f() returns int stable language sql as $$ select 2 $$;
  grant usage on schema second to web_user;
  grant select on second.things to web_user;
`;

/** A gateway with tools at several locations, for the tests of one file. */
export interface ToolServer {
  readonly gw: Gateway;
  readonly db: TestDatabase;
  /** A client of the protocol's own SDK. `path` ends in a slash. */
  connect(path: string, role?: string): Promise<Client>;
  /** Sends a message as it is. */
  post(path: string, body: string, headers?: Record<string, string>): Promise<ReceivedResponse>;
}

export function toolsOfFile(): { readonly it: ToolServer } {
  const file = wholeFile();
  const opened: { it?: ToolServer } = {};
  beforeAll(async () => {
    const db = await postgres(FIXTURE);
    const common = `dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}";`;
    const gw = await startGateway(
      file,
      `server { server_name gateway.test;
      location /api/ { ${common} dbrest_mcp on; }
      location /write/ { ${common} dbrest_mcp write; dbrest_schemas "public, second"; }
      location /few/ { ${common} dbrest_mcp on; dbrest_max_rows 3; dbrest_cors_origins https://trusted.test; }
      location /rpc/ { ${common} dbrest_mcp on; }
      location /off/ { ${common} }
      location /strict/ { ${common} dbrest_mcp on; dbrest_jwt_invalid reject; } }`,
    );
    opened.it = {
      gw,
      db,
      connect: (path, role) => connect(gw, path, role),
      post: (...sent) => post(gw, ...sent),
    };
  });
  beforeEach(() =>
    opened.it?.db.query(`truncate films, makers, notes, hidden;
    insert into makers values (1, 'Ann'), (2, 'Bob');
    insert into films values (1, 'one', 1, 'ok', '{a,b}', '{"k": 1}'), (2, 'two', 2, 'sad', null, null),
      (9007199254740993, 'big', null, null, null, '12345678901234567890.10');
    insert into notes values (1, 'web_user', 'mine'), (2, 'anon', 'other')`),
  );

  return opened as { it: ToolServer };
}

async function connect(gw: Gateway, path: string, role?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = role === undefined ? {} : { authorization: `Bearer ${sign({ role })}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gw.url}${path}mcp`), { requestInit: { headers } }) as never,
  );
  return client;
}

export async function call(
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: given })) as CallToolResult;
}

/** The error of a result. */
export function errorOf(result: CallToolResult): Record<string, unknown> {
  expect(result.isError).toBe(true);
  const [content] = result.content;
  return JSON.parse(content?.type === 'text' ? content.text : '') as Record<string, unknown>;
}

export async function toolsOf(client: Client): Promise<readonly Tool[]> {
  const all: Tool[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    all.push(...page.tools);
    cursor = page.nextCursor;
  }
  return all;
}

export const names = async (client: Client): Promise<readonly string[]> =>
  (await toolsOf(client)).map(({ name }) => name);

function post(
  gw: Gateway,
  ...[path, body, headers = {}]: Parameters<ToolServer['post']>
): Promise<ReceivedResponse> {
  const own = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return gw.fetch(path, { method: 'POST', headers: { ...own, ...headers }, body });
}
