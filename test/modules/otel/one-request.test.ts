import { expect, test } from 'vitest';
import { type Collector, startCollector } from '../../harness/collector.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { ownPostgres } from '../../harness/own-postgres.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { jwks, startIssuer } from '../auth_jwt/issuer.ts';

const ID = 'joins-7.a';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const FIXTURE = `
  create role anon;
  create function told() returns int language plpgsql as $$ begin raise log 'from a function'; return 1; end $$;
`;

/** Lines of a log that are JSON. */
function linesOf(gw: Gateway, file: string): readonly Record<string, unknown>[] {
  const lines = gw.read(file).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Waits for a line of a log, which is written after the response. */
async function lineWith(gw: Gateway, file: string, part: object): Promise<Record<string, unknown>> {
  await expect.poll(() => linesOf(gw, file)).toContainEqual(expect.objectContaining(part));
  return linesOf(gw, file).find((line) =>
    Object.entries(part).every(([name, value]) => line[name] === value),
  )!;
}

/** A configuration in which a request leaves traces everywhere. Nothing listens at the store of the cluster. */
const confOf = ({
  store,
  collector,
  dsn,
}: {
  store: number;
  collector: number;
  dsn: string;
}): string => `cluster main { backend redis://127.0.0.1:${store}; secret "a secret of the tests"; limits fallback=closed; }
     limit_req_zone $uri zone=shared:1m rate=1r/s cluster=main;
     otel_exporter { endpoint 127.0.0.1:${collector}; protocol http/json; interval 5ms; }
     otel_trace on; otel_trace_context propagate; otel_child_spans on; otel_logs both;
     access_log access.json json;
     error_log error.json info format=json;
     error_log text.log info; error_log_tag request $request_id_shown;
     map $ngz_request_id $request_id_shown { default $ngz_request_id; }
     server {
       request_id_header X-Request-ID;
       location / {
         limit_req zone=shared; limit_req_dry_run on; auth_request /auth;
         slow_log slow.json request=0 query=0 kv=0;
         dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_request_comment on;
       }
       location = /auth { internal; kv_pass embedded:kv; kv_key k; kv_command exists; }
     }`;

/** The span of the request and those inside of it belong to the trace, and the record of the access log has the id. */
async function expectSpans(collector: Collector): Promise<void> {
  await collector.waitFor(() => collector.spans().some(({ kind }) => kind === 2), 'the span of the request');
  const server = collector.spans().find(({ kind }) => kind === 2);
  expect(server).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    attributes: { 'http.request.id': ID },
  });
  const children = collector.spans().filter(({ parentSpanId }) => parentSpanId === server?.spanId);
  expect(new Set(children.map(({ name }) => name))).toEqual(
    new Set(['cluster ask', 'auth_request', 'exists', 'wait', 'query']),
  );
  for (const { traceId } of children) expect(traceId).toBe(TRACE);
  expect(children.find(({ name }) => name === 'query')?.attributes).toEqual({
    'db.system': 'postgresql',
    'db.operation.name': 'call',
  });
  const records = (): string => JSON.stringify(collector.exports.filter(({ signal }) => signal === 'logs'));
  await collector.waitFor(() => records().includes('kvlistValue'), 'the record of the access log');
  expect(records()).toContain(`{"key":"request_id","value":{"stringValue":"${ID}"}}`);
}

test('one request has one id and one trace, wherever it leaves one', async (t) => {
  const collector = await startCollector(t);
  const db = await ownPostgres(t, FIXTURE, { log_line_prefix: '[%a] ', log_statement: 'all' });
  const gw = await startGateway(
    t,
    confOf({ store: await freePort(), collector: collector.port, dsn: db.dsn }),
    { fresh: true },
  );
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  const { status, headers } = await gw.fetch('/rpc/told', { headers: { 'X-Request-ID': ID, traceparent } });
  expect(status).toBe(200);
  expect(headers.get('x-request-id')).toBe(ID);

  expect(await lineWith(gw, 'access.json', { uri: '/rpc/told' })).toMatchObject({
    request_id: ID,
    trace_id: TRACE,
  });
  for (const kind of ['request', 'query', 'kv'])
    expect(await lineWith(gw, 'slow.json', { kind })).toMatchObject({ request_id: ID, trace_id: TRACE });
  const warning = linesOf(gw, 'error.json').find(({ msg }) => String(msg).includes('cluster'));
  expect(linesOf(gw, 'error.json').filter(({ request }) => request !== undefined)).not.toEqual([]);
  for (const line of linesOf(gw, 'error.json'))
    if (line['request'] !== undefined) expect(line).toMatchObject({ request_id: ID, trace_id: TRACE });
  expect(warning).toBeDefined();
  const about = gw
    .read('text.log')
    .split('\n')
    .filter((line) => line.includes('request: "'));
  expect(about).not.toEqual([]);
  for (const line of about) expect(line).toContain(`request: "${ID}"`);
  await expect.poll(() => db.log()).toContain(`[gw ${ID}] LOG:  from a function`);

  await expectSpans(collector);
});

test('the items of a batch have the id and one span, whose wait is shown', async (t) => {
  const collector = await startCollector(t);
  const { dsn } = await postgres(`create view names as select current_setting('application_name') as name;
    grant select on names to anon;`);
  const gw = await startGateway(
    t,
    `otel_exporter { endpoint 127.0.0.1:${collector.port}; protocol http/json; interval 5ms; }
     otel_trace on; otel_child_spans on;
     server { add_header X-Id $request_id; location / { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_batch on; dbrest_request_comment on; } }`,
  );
  const item = { method: 'GET', path: '/names' };
  const { body, headers } = await gw.fetch('/rpc/batch', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([item, item]),
  });
  const id = headers.get('x-id') ?? '';
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(body.split(`"gw ${id}"`)).toHaveLength(3);
  await collector.waitForSpans(3);
  const server = collector.spans().find(({ kind }) => kind === 2);
  expect(server?.attributes['http.request.id']).toBe(id);
  const children = collector.spans().filter(({ parentSpanId }) => parentSpanId === server?.spanId);
  expect(children.map(({ name }) => name).toSorted()).toEqual(['query', 'wait']);
});

test('fetching keys and asking an issuer about a token have spans', async (t) => {
  const collector = await startCollector(t);
  const issuer = await startIssuer(t, '');
  issuer.respond = (request, response) =>
    response.end(request.url === '/ask' ? '{"active":true,"sub":"ann"}' : jwks({ a: SECRET }));
  const at = `http://127.0.0.1:${issuer.port}`;
  const gw = await startGateway(
    t,
    `otel_exporter { endpoint 127.0.0.1:${collector.port}; protocol http/json; interval 5ms; }
     otel_trace on; otel_child_spans on;
     token_issuer opaque { issuer https://one.example; key_file keys.json; introspect ${at}/ask; client_id gw; client_secret "s:cret"; }
     server {
       location /opaque { auth_jwt api; auth_jwt_issuer opaque; return 200; }
       location /keys { auth_jwt api; auth_jwt_key_request /jwks; return 200; }
       location = /jwks { internal; proxy_pass ${at}/keys; }
     }`,
    { files: { 'keys.json': jwks({ a: SECRET }) } },
  );
  const childrenOf = async (path: string, token: string): Promise<readonly string[]> => {
    await gw.fetch(path, { headers: bearer(token) });
    const serverOf = () =>
      collector.spans().find(({ kind, attributes }) => kind === 2 && attributes['http.target'] === path);
    await collector.waitFor(() => serverOf() !== undefined, path);
    return collector
      .spans()
      .filter(({ parentSpanId }) => parentSpanId === serverOf()?.spanId)
      .map(({ name }) => name);
  };
  expect(await childrenOf('/opaque', 'opaque-token')).toContain('introspection');
  expect(await childrenOf('/keys', sign({ sub: 'ann' }))).toEqual(
    expect.arrayContaining(['jwks', 'http GET']),
  );
});
