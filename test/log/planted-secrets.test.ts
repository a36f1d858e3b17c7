import { execFileSync } from 'node:child_process';
import { beforeAll, expect, test } from 'vitest';
import { DATA_PATHS } from '../../src/modules/control/console/contract.ts';
import { type Collector, startCollector } from '../harness/collector.ts';
import { type Gateway, GW, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';

const file = wholeFile();
let collector: Collector;
let gw: Gateway;

/** What a client sends; each S is the secret. */
interface Planting {
  readonly it: string;
  /** Behind the mark of the planting. */
  readonly query?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJTIn0.S';

const PLANTINGS: readonly Planting[] = [
  { it: 'a token in the query', query: 'token=S&n=1' },
  { it: 'a token behind a semicolon', query: 'n=1;access_token=S' },
  { it: 'a name in capitals', query: 'PassWord=S' },
  { it: 'a name with escapes', query: '%74o%6Ben=S' },
  { it: 'a member of a form', query: 'user[password]=S' },
  { it: 'a member of a form with escapes', query: 'user%5Bpassword%5D=S' },
  { it: 'a list', query: 'token[]=S' },
  { it: 'a name in camel case', query: 'clientSecret=S' },
  { it: 'a signature of a URL', query: 'X-Amz-Signature=S' },
  { it: 'a session', query: 'jsessionid=S' },
  { it: 'a URL with a query in an argument', query: 'next=/back?token=S' },
  { it: 'an escaped URL in an argument', query: 'next=%2Fback%3Ftoken%3DS' },
  { it: 'a URL escaped twice in an argument', query: 'next=%252Fback%253Ftoken%253DS' },
  { it: 'the string of a connection in an argument', query: 'to=postgres://ann:S@db/app' },
  { it: 'the escaped string of a connection', query: 'to=postgres%3A%2F%2Fann%3AS%40db%2Fapp' },
  { it: 'a token of the web in a URL', query: 'to=https://S@h/repository' },
  { it: 'an authorization response', query: 'code=S&state=S' },
  { it: 'an authorization response with escapes', query: 'c%6Fde=S&st%61te=S' },
  { it: 'a JSON web token in an argument', query: `q=${JWT}` },
  { it: 'a JSON web token in the path', path: `/${JWT}` },
  { it: 'a session in the path', path: '/a;jsessionid=S' },
  { it: 'an escaped query in the path', path: '/a%3Ftoken%3DS' },
  { it: 'the login of the client', headers: { Authorization: 'Bearer S' } },
  { it: 'cookies', headers: { Cookie: 'session=S; theme=S' } },
  { it: 'the key of an API', headers: { 'X-Api-Key': 'S' } },
  { it: 'a token of another name', headers: { 'X-Auth-Token': 'S' } },
  { it: 'a token in the referrer', headers: { Referer: 'https://site.test/?token=S' } },
  { it: 'a token in the fragment of the referrer', headers: { Referer: 'https://site.test/#id_token=S' } },
  { it: 'a login in the referrer', headers: { Referer: 'https://ann:S@site.test/' } },
  { it: 'a token in the name of the program', headers: { 'User-Agent': `app (token=S; ${JWT})` } },
];

const secretOf = (nth: number): string => `planted${nth}secret`;
const markOf = (nth: number): string => `mark-${nth}-`;

/** Variables of clients, upstreams and the configuration. */
const VARIABLES =
  `$request $request_uri $args $query_string $uri $document_uri $http_referer $http_user_agent $http_authorization
  $http_cookie $http_x_api_key $http_x_auth_token $cookie_session $arg_token $arg_access_token $arg_password $arg_next $arg_to $arg_q
  $arg_code $arg_state $arg_jsessionid $sent_http_set_cookie $sent_http_x_next
  $request_filename $bearer_token $copied_token`.replace(/\s+/g, ' ');

const conf = (): string => `
  map $http_authorization $bearer_token { default ""; "~^Bearer (?<access_token>.*)" $access_token; }
  log_format own '$mark ${VARIABLES}';
  log_format own_json escape=json '{"mark":"$mark","all":"${VARIABLES}"}';
  log_format own_none escape=none '$mark ${VARIABLES}';
  map $http_x_mark $mark { default $http_x_mark; }
  access_log combined.log combined; access_log json.log json; access_log full.log json_full;
  access_log own.log own; access_log own_json.log own_json; access_log own_none.log own_none;
  slow_log slow.log request=0 upstream=0 rate=1000/s;
  otel_exporter { endpoint 127.0.0.1:${collector.port}; protocol http/json; interval 5ms; header X-Api-Key configured-secret; }
  otel_trace on; otel_trace_context inject; otel_child_spans on; otel_logs both; otel_metrics on;
  otel_span_name "$request"; otel_span_attr all "${VARIABLES}"; otel_span_attr mark $mark;
  error_log_tag all "${VARIABLES}"; error_log_tag mark $mark;
  server {
    error_log error.log info; error_log error.json info format=json; rewrite_log on;
    set $copied_token $arg_token;
    location /_gw/ { access_log off; otel_trace off; control_console on; }
    location = /metrics { access_log off; otel_trace off; control_api metrics; }
    add_header Set-Cookie "session=$arg_token" always;
    add_header X-Next "/to?token=$arg_token" always;
    location = /refused {
      internal;
      proxy_pass http://127.0.0.1:1/?token=$arg_token;
      proxy_set_header X-Backend-Token configured-secret;
    }
    location ~ ^/(?<captured>.*)$ {
      root html;
      try_files /missing-$captured /none =404;
      error_page 404 = /refused;
    }
  }`;

/** What the collector got, without the headers of requests. */
function sentAs(signal: string): string {
  const exports = collector.exports.filter((each) => each.signal === signal);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- its shape was checked against the protocol
  return JSON.stringify(exports.map(({ message }) => message));
}

const OUTPUTS: Readonly<Record<string, () => string | Promise<string>>> = {
  'the access log "combined"': () => gw.read('combined.log'),
  'the access log "json"': () => gw.read('json.log'),
  'the access log "json_full"': () => gw.read('full.log'),
  'an access log with a format of its own': () => gw.read('own.log'),
  'an access log with a JSON format of its own': () => gw.read('own_json.log'),
  'an access log without escapes': () => gw.read('own_none.log'),
  'the error log': () => gw.read('error.log'),
  'the error log in JSON': () => gw.read('error.json'),
  'the slow log': () => gw.read('slow.log'),
  spans: () => sentAs('traces'),
  'log records': () => sentAs('logs'),
  'the log of the console': async () => (await gw.fetch(`/_gw/${DATA_PATHS.log}`)).body,
  'the configuration in the console': async () => (await gw.fetch(`/_gw/${DATA_PATHS.config}`)).body,
  metrics: async () => (await gw.fetch('/metrics')).body,
  'the dump of the configuration': () =>
    execFileSync(process.execPath, [GW, '-T', '-p', gw.dir, '-c', gw.conf], {
      encoding: 'utf8',
      stdio: 'pipe',
    }),
};

/** What shows which request a line is about. */
const WITHOUT_MARKS: ReadonlySet<string> = new Set([
  'the slow log',
  // It has the last lines only.
  'the log of the console',
  'metrics',
  'the configuration in the console',
  'the dump of the configuration',
]);

const shown: Record<string, string> = {};

beforeAll(async () => {
  collector = await startCollector(file);
  gw = await startGateway(file, conf());
  for (const [nth, { query = 'n=1', path = '/a', headers = {} }] of PLANTINGS.entries()) {
    const planted = (text: string): string =>
      text.replaceAll(/(?<=[=/:.])S(?=[@&;).]|$)|(?<=%3D|%253D|%3A|Bearer )S(?=%40|$)|^S$/g, secretOf(nth));
    const mark = markOf(nth);
    const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, planted(value)]));
    const target = `${planted(path)}?mark=${mark}&${planted(query)}`;
    if (!`${target}${JSON.stringify(sent)}`.includes(secretOf(nth)))
      throw new Error(`nothing is planted: ${target}`);
    await gw.expect(`GET ${target}`, { status: 502 }, { headers: { ...sent, 'X-Mark': mark } });
  }
  const last = markOf(PLANTINGS.length - 1);
  const have = (signal: string): boolean => sentAs(signal).includes(last);
  await collector.waitFor(() => have('traces') && have('logs'), 'records of the last request');
  for (const [output, read] of Object.entries(OUTPUTS)) shown[output] = await read();
});

for (const output of Object.keys(OUTPUTS)) {
  for (const [nth, { it }] of PLANTINGS.entries()) {
    test(`${output} does not show ${it}`, () => {
      const text = shown[output] ?? '';
      if (!WITHOUT_MARKS.has(output)) expect(text).toContain(markOf(nth));
      const at = text.indexOf(secretOf(nth));
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 50)).toBe('');
    });
  }

  test(`${output} does not show secrets of the configuration`, () => {
    expect(shown[output]).not.toBe('');
    expect(shown[output]).not.toContain('configured-secret');
  });
}
