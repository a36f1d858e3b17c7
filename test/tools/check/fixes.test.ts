import { expect, test } from 'vitest';
import type { TextEdit } from '../../../grammar/index.ts';
import { check, load } from '../../../src/pipeline.ts';

function applied(text: string, edits: readonly TextEdit[]): string {
  return edits
    .toSorted((a, b) => b.span.start - a.span.start)
    .reduce((so, { span, text: by }) => so.slice(0, span.start) + by + so.slice(span.end), text);
}

async function findingsIn(text: string) {
  const files = { confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw' };
  return check(load({ ...files, text }, { advise: true }));
}

const inServer = (text: string): string => `http {\nserver {\nlisten 8080 default_server;\n${text}\n}\n}\n`;
const inHttp = (text: string): string => `http {\n${text}\n}\n`;

interface Case {
  readonly rule: string;
  readonly bad: string;
  readonly mended: string;
  readonly around?: typeof inServer;
  readonly safe?: true;
}

const CASES: readonly Case[] = [
  { rule: 'unexpected-token', bad: 'root /a;;', mended: 'root /a;', safe: true },
  { rule: 'unexpected-token', bad: 'return 200 "a"b;', mended: 'return 200 "a" b;' },
  { rule: 'missing-semicolon', bad: 'root /a\nindex b;', mended: 'root /a;\nindex b;', safe: true },
  { rule: 'missing-semicolon', bad: 'location / { root /a }', mended: 'location / { root /a; }', safe: true },
  { rule: 'unclosed-quote', bad: 'root "/a b;', mended: 'root "/a b";' },
  { rule: 'unknown-directive', bad: 'retrun 200;', mended: 'return 200;' },
  { rule: 'wrong-arity', bad: 'root /a b  c;', mended: 'root "/a b  c";', safe: true },
  { rule: 'wrong-arity', bad: 'return 200 hello $host;', mended: 'return 200 "hello $host";', safe: true },
  { rule: 'wrong-arity', bad: 'set $x a b;', mended: 'set $x "a b";', safe: true },
  { rule: 'bad-value', bad: 'autoindex onn;', mended: 'autoindex on;' },
  { rule: 'bad-value', bad: 'autoindex true;', mended: 'autoindex on;' },
  { rule: 'bad-value', bad: 'satisfy ani;', mended: 'satisfy any;' },
  { rule: 'bad-value', bad: 'listen 81 default-server;', mended: 'listen 81 default_server;' },
  { rule: 'bad-value', bad: 'error_log stderr warning;', mended: 'error_log stderr warn;' },
  { rule: 'bad-value', bad: 'rewrite ^/a /b lst;', mended: 'rewrite ^/a /b last;' },
  { rule: 'unknown-variable', bad: 'return 200 "${htp_host}";', mended: 'return 200 "${http_host}";' },
  { rule: 'unknown-variable', bad: 'return 200 $hots;', mended: 'return 200 $host;' },
  {
    rule: 'deprecated',
    bad: 'listen 8443 http2 ssl;\nlisten 8444 ssl http2;\nssl_reject_handshake on;',
    mended: 'listen 8443 ssl;\nlisten 8444 ssl;\nhttp2 on;\nssl_reject_handshake on;',
    safe: true,
  },
  { rule: 'deprecated', bad: 'listen 8081 default;', mended: 'listen 8081 default_server;', safe: true },
  {
    rule: 'deprecated',
    bad: 'server {\n  listen 8443;\n  listen 8444 ssl;\n  ssl on;\n  ssl_reject_handshake on;\n}',
    mended: 'server {\n  listen 8443 ssl;\n  listen 8444 ssl;\n  ssl_reject_handshake on;\n}',
    around: inHttp,
    safe: true,
  },
  {
    rule: 'log-format-unsafe',
    bad: `log_format f '{"uri":"$uri"}';`,
    mended: `log_format f escape=json '{"uri":"$uri"}';`,
    around: inHttp,
    safe: true,
  },
  {
    rule: 'log-format-unsafe',
    bad: `log_format f escape=none '{"uri":"$uri"}';`,
    mended: `log_format f escape=json '{"uri":"$uri"}';`,
    around: inHttp,
    safe: true,
  },
  {
    rule: 'dbrest-prefix-slash',
    bad: 'location "/rest" { dbrest_pass embedded; }',
    mended: 'location "/rest/" { dbrest_pass embedded; }',
  },
  { rule: 'unit-pitfall', bad: 'send_timeout 5000;', mended: 'send_timeout 5000ms;' },
  { rule: 'unit-pitfall', bad: 'send_timeout 5M;', mended: 'send_timeout 5m;' },
  {
    rule: 'unit-pitfall',
    bad: 'location /a { circuit_breaker_threshold 5; circuit_breaker_timeout 30; }',
    mended: 'location /a { circuit_breaker_threshold 5; circuit_breaker_timeout 30s; }',
  },
  { rule: 'unit-pitfall', bad: 'client_max_body_size 10;', mended: 'client_max_body_size 10m;' },
  { rule: 'regex-in-prefix', bad: 'location \\.php$ { }', mended: 'location ~ \\.php$ { }' },
  {
    rule: 'no-default-server',
    bad: 'server { listen 80; server_name a; }\nserver { listen 80; server_name b; }',
    mended: 'server { listen 80 default_server; server_name a; }\nserver { listen 80; server_name b; }',
    around: inHttp,
  },
  {
    rule: 'suspicious-server-name',
    bad: 'server_name https://a.example/b;',
    mended: 'server_name a.example;',
  },
  { rule: 'suspicious-server-name', bad: 'server_name a.example:80;', mended: 'server_name a.example;' },
  { rule: 'suspicious-server-name', bad: 'server_name a.example, b;', mended: 'server_name a.example b;' },
];

for (const { rule, bad, mended, around = inServer, safe = false } of CASES) {
  test(`the fix of ${rule} makes ${JSON.stringify(mended)} of ${JSON.stringify(bad)}`, async () => {
    const text = around(bad);
    const found = (await findingsIn(text)).filter(({ slug, fix }) => slug === rule && fix);
    expect(found).toHaveLength(1);
    const fix = found[0]?.fix;
    expect(applied(text, fix?.edits ?? [])).toBe(around(mended));
    expect(fix?.safe).toBe(safe);
  });
}

const UNSURE: readonly string[] = [
  'root "/a" b;',
  'root /a\n  b;',
  'default_type text/html text/plain;',
  'autoindex perhaps;',
  'send_timeout 3600;',
  'send_timeout 1800;',
  'send_timeout 90000;',
  'client_max_body_size 0;',
  'client_max_body_size 1024;',
];

for (const text of UNSURE) {
  test(`no fix is offered for ${JSON.stringify(text)}`, async () => {
    const found = await findingsIn(inServer(text));
    expect(found.filter(({ fix }) => fix)).toEqual([]);
  });
}
