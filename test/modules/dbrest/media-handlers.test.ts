import { beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';

const SCHEMA = `
  create table lines (id int primary key, name text not null);
  insert into lines values (1, 'one'), (2, 'two');
  create table wide as select i as id, repeat('x', 1000) as pad from generate_series(1, 500) i;

  create domain "application/vnd.Own.Case+xml" as xml;
  create function own_case() returns "application/vnd.Own.Case+xml" immutable language sql as $$ select '<c/>'::xml $$;
  create domain "application/json" as json;
  create function own_json() returns "application/json" immutable language sql as $$ select '{"own": 1}'::json $$;
  create domain "application/geo+json" as text;
  create function own_geo() returns "application/geo+json" immutable language sql as $$ select '{"type": "Point"}' $$;
  create domain "text/csv" as text;
  create function own_csv() returns "text/csv" immutable language sql as $$ select 'a;b' $$;
  create function own_csvs() returns setof "application/vnd.Own.Case+xml" immutable language sql
    as $$ values ('<a/>'::xml), ('<b/>') $$;
  create domain "*/*" as bytea;
  create function answered() returns "*/*" stable language sql as $$ select 'any'::bytea $$;

  create function add_line(state text, next lines) returns "text/csv" immutable language sql
    as $$ select state || next.id || ';' || next.name || E'\\n' $$;
  create function name_file(state "text/csv") returns "text/csv" language sql as $$
    select set_config('response.headers', '[{"Content-Disposition": "attachment; filename=lines.csv"}]', true);
    select ('id;name' || E'\\n' || state)::"text/csv" $$;
  create aggregate as_csv(lines) (initcond = '', stype = "text/csv", sfunc = add_line, finalfunc = name_file);

  create view pages as select id, name from lines;
  create function add_page(state text, next pages) returns text immutable language sql as $$ select state || next.name || '.' $$;
  create function finish_csv(state text) returns "text/csv" immutable language sql as $$ select 'csv ' || state $$;
  create function finish_any(state text) returns "*/*" language plpgsql as $$ begin
    perform set_config('response.headers', '[{"Content-Type": "text/x-any"}, {"X-Rows": "all"}]', true);
    return convert_to(state, 'UTF8')::"*/*";
  end $$;
  create aggregate pages_csv(pages) (initcond = '', stype = text, sfunc = add_page, finalfunc = finish_csv);
  create aggregate pages_any(pages) (initcond = '', stype = text, sfunc = add_page, finalfunc = finish_any);

  create function typed(shown text) returns text stable language plpgsql as $$ begin
    perform set_config('response.headers', '[{"Content-Type": "text/x-own"}, {"X-Own": "1"}]', true);
    return shown;
  end $$;
  create view typed_lines as select id, typed(name) as name from lines;
  create view typed_wide as select id, typed(pad) as pad from wide;
  create function typed_before() returns void language sql
    as $$ select set_config('response.headers', '[{"Content-Type": "text/x-before"}]', true) $$;
  grant all on all tables in schema public to anon;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(SCHEMA);
  const location = `dbrest_pass ${dsn}; dbrest_anon_role anon;`;
  gw = await startGateway(
    file,
    `server {
      location /api/ { ${location} dbrest_plan on; }
      location /before/ { ${location} dbrest_pre_request typed_before; }
    }`,
  );
});

const made: readonly (readonly [target: string, accept: string, type: string, body: string])[] = [
  ['rpc/own_case', 'application/vnd.own.case+xml', 'application/vnd.Own.Case+xml', '<c/>'],
  ['rpc/own_csv', 'text/csv', 'text/csv', 'a;b'],
  ['rpc/own_json', 'application/json', 'application/json; charset=utf-8', '{"own": 1}'],
  ['rpc/own_json', 'application/vnd.pgrst.array+json', 'application/json; charset=utf-8', '{"own": 1}'],
  ['rpc/own_geo', 'application/geo+json', 'application/geo+json; charset=utf-8', '{"type": "Point"}'],
  ['rpc/own_case', 'text/xml', 'text/xml; charset=utf-8', '<c/>'],
  ['rpc/answered', 'text/x-odd', 'application/octet-stream', 'any'],
  ['pages', 'text/csv', 'text/x-any', 'one.two.'],
  ['pages', '*/*', 'text/x-any', 'one.two.'],
];
test.each(made)('%s as %s is made by the database, as %s', async (...[target, accept, type, body]) => {
  const get = await gw.fetch(`/api/${target}`, { headers: { accept } });
  expect([get.status, get.headers.get('content-type'), get.body]).toEqual([200, type, body]);
  const head = await gw.fetch(`/api/${target}`, { method: 'HEAD', headers: { accept } });
  expect([head.status, head.headers.get('content-type'), head.body]).toEqual([200, type, '']);
});

test('an aggregate that makes a media type of rows names the file of the response', async () => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await gw.fetch('/api/lines', { method, headers: { accept: 'text/csv' } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/csv');
    expect(headers.get('content-disposition')).toBe('attachment; filename=lines.csv');
  }
  await gw.expect('GET /api/lines', { body: 'id;name\n1;one\n2;two\n' }, { headers: { accept: 'text/csv' } });
});

test('the execution plan for a media type of the database is that of its aggregate', async () => {
  const planOf = async (target: string, type: string) => {
    const accept = `application/vnd.pgrst.plan+json; for="${type}"; options=verbose`;
    return gw.fetch(`/api/${target}`, { headers: { accept } });
  };
  const { status, headers, body } = await planOf('lines', 'text/csv');
  expect([status, headers.get('content-type')]).toEqual([
    200,
    'application/vnd.pgrst.plan+json; for="text/csv"; options=verbose; charset=utf-8',
  ]);
  expect(body).toContain('as_csv(');
  const own = await planOf('rpc/own_case', 'application/vnd.own.case+xml');
  expect([own.status, own.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.pgrst.plan+json; for="application/vnd.Own.Case+xml"; options=verbose; charset=utf-8',
  ]);
  expect((await planOf('lines', 'image/png')).status).toBe(406);
  expect((await planOf('pages', 'application/vnd.pgrst.object+json;nulls=stripped')).body).not.toContain(
    'pages_any(',
  );
});

test('a set of values has no media type of its own', async () => {
  const accept = 'application/vnd.own.case+xml';
  await gw.expect('GET /api/rpc/own_csvs', { status: 406 }, { headers: { accept } });
});

describe('a function of a view sets headers and type of the response', () => {
  const shown: readonly (readonly [line: string, accept: string, body: string])[] = [
    ['GET typed_lines?select=name&id=eq.1', 'application/json', '[{"name":"one"}]'],
    ['GET typed_lines?select=name&id=eq.1&limit=1', 'application/json', '[{"name":"one"}]'],
    ['GET typed_lines?select=name&id=eq.1', 'application/vnd.pgrst.object+json', '{"name":"one"}'],
    ['GET typed_lines?order=id', 'text/csv', 'id,name\n1,one\n2,two'],
    ['GET typed_lines?select=name&id=eq.2', 'text/plain', 'two'],
    ['GET typed_lines?select=name&id=eq.2', 'application/octet-stream', 'two'],
    ['HEAD typed_lines', 'application/json', ''],
  ];
  test.each(shown)('%s as %s', async (line, accept, body) => {
    const [method = '', target = ''] = line.split(' ');
    const response = await gw.fetch(`/api/${target}`, { method, headers: { accept } });
    expect([response.status, response.body]).toEqual([200, body]);
    expect(response.headers.get('content-type')).toBe('text/x-own');
    expect(response.headers.get('x-own')).toBe('1');
  });

  test('also when the rows are streamed', async () => {
    const { headers, body } = await gw.fetch('/api/typed_wide');
    expect(headers.get('content-type')).toBe('text/x-own');
    expect(headers.get('content-length')).toBeNull();
    expect(JSON.parse(body)).toHaveLength(500);
  });

  test('but not when it has no row to run for', async () => {
    const { headers, body } = await gw.fetch('/api/typed_lines?id=eq.9');
    expect([headers.get('content-type'), headers.get('x-own'), body]).toEqual([
      'application/json; charset=utf-8',
      null,
      '[]',
    ]);
  });
});

test.each(['GET lines', 'HEAD lines', 'GET typed_lines?id=eq.9', 'GET rpc/own_json', 'DELETE lines?id=eq.9'])(
  'dbrest_pre_request sets the type of %s',
  async (line) => {
    const [method = '', target = ''] = line.split(' ');
    const { headers } = await gw.fetch(`/before/${target}`, { method });
    expect(headers.get('content-type')).toBe('text/x-before');
  },
);
