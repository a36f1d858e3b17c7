import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HAS_NGINX, startNginx } from '../../conformance/nginx.ts';
import { startGateway } from '../../harness/gateway.ts';
import { call } from '../../harness/http.ts';
import type { Owner } from '../../harness/owner.ts';

const server = `
  rewrite_log on;
  location /rewrite/ { rewrite ^/rewrite/(.*)$ /to/$1?own=1 last; }
  location /redirect/ { rewrite ^/redirect/(.*)$ /to/$1 permanent; }
  location /none/ { rewrite ^/other/(.*)$ /to/$1 last; return 204; }
  location /if/ { if ($arg_a ~* ^X) { return 204; } if ($arg_a !~ ^x) { return 200 no; } return 200 else; }
  location /quiet/ { rewrite_log off; rewrite ^/quiet/(.*)$ /to/$1 last; }
  location /cycle { rewrite_log off; rewrite ^ /cycle-again last; }
  location /zero { rewrite_log off; rewrite ^ $arg_none? last; }
  location /unset { set $shown "$never$never"; return 200 "$never[$shown]"; set $never 1; }
  location /unset-quiet { uninitialized_variable_warn off; return 200 "$never"; }
  location /unset-if { if ($never = a) { return 404; } return 204; }
  location /capture-unset { return 200 "[$named]"; }
  location ~ ^/capture/(?<named>.*)$ { return 200 "$named"; }
  location /limit { set $limit_rate fast; return 204; }
  location /to/ { return 204; }`;

/** The log lines of each request, without time, process and connection. */
const cases: readonly [target: string, lines: readonly string[]][] = [
  [
    '/rewrite/x?q=1',
    [
      '[notice] "^/rewrite/(.*)$" matches "/rewrite/x"',
      '[notice] rewritten data: "/to/x", args: "own=1&q=1"',
    ],
  ],
  [
    '/redirect/x%20y?q=1',
    ['[notice] "^/redirect/(.*)$" matches "/redirect/x y"', '[notice] rewritten redirect: "/to/x%20y?q=1"'],
  ],
  ['/none/x', ['[notice] "^/other/(.*)$" does not match "/none/x"']],
  ['/if/?a=xy', ['[notice] "^X" matches "xy"']],
  ['/if/?a=a', ['[notice] "^X" does not match "a"', '[notice] "^x" does not match "a"']],
  ['/if/', ['[notice] "^X" does not match ""', '[notice] "^x" does not match ""']],
  ['/quiet/x', []],
  ['/cycle', ['[error] rewrite or internal redirection cycle while processing "/cycle-again"']],
  ['/zero', ['[error] the rewritten URI has a zero length']],
  ['/unset', ['[warn] using uninitialized "never" variable']],
  ['/unset-quiet', []],
  ['/unset-if', ['[warn] using uninitialized "never" variable']],
  ['/capture-unset', []],
  ['/limit', ['[error] invalid $limit_rate "fast"']],
];

const programs: readonly { name: string; start: (t: Owner, http: string) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: startNginx }] : []),
  { name: 'gw', start: async (t, http) => (await startGateway(t, http)).port },
];

for (const { name, start } of programs) {
  test(`${name} logs its rewrites and failed matches`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gw-log-lines-'));
    t.onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'lines.log');
    const port = await start(t, `server { server_name a.example; error_log ${file} notice; ${server} }`);
    for (const [target, lines] of cases) {
      const before = linesOf(file).length;
      await call(port, target, { headers: { host: 'a.example' } });
      const context = `, client: 127.0.0.1, server: a.example, request: "GET ${target} HTTP/1.1", host: "a.example"`;
      expect(linesOf(file).slice(before)).toEqual(lines.map((line) => line + context));
    }
  });
}

function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes(', client: '))
    .map((line) => line.replace(/^\S+ \S+ (\[\w+\]) \d+#\d+: (?:\*\d+ )?/, '$1 '));
}
