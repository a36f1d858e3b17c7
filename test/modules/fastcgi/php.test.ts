import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { launch } from '../../harness/launch.ts';
import { wholeFile } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { connectRaw } from '../../harness/raw.ts';

const HAS_PHP = spawnSync('php-cgi', ['-v']).error === undefined;
const load = oneGateway();
const file = wholeFile();

/** A real PHP: the FastCGI server of php-cgi. */
async function startPhp(root: string): Promise<number> {
  const port = await freePort();
  const settings = ['-d', 'log_errors=1', '-d', 'display_errors=0', '-d', `session.save_path=${root}`];
  const php = launch('php-cgi', ['-n', ...settings, '-b', `127.0.0.1:${port}`], {
    cwd: root,
  });
  file.onTestFinished(async () => {
    // php-cgi handles other signals only after its open connections.
    await php.stop('SIGKILL');
    rmSync(root, { recursive: true, force: true });
  });
  for (;;) {
    const connection = await connectRaw(port).catch(() => undefined);
    connection?.destroy();
    if (connection) return port;
    if (php.exit()) throw new Error(`php-cgi did not start: ${php.output()}`);
    await sleep(10);
  }
}

let root = '';
let port = 0;

beforeAll(async () => {
  if (!HAS_PHP) return;
  root = mkdtempSync(join(tmpdir(), 'gw-php-'));
  mkdirSync(join(root, 'www'));
  copyFileSync(new URL('php/index.php', import.meta.url), join(root, 'www/index.php'));
  port = await startPhp(root);
});

const site = (): string => `server {
  root ${root}/www;
  location / { rewrite ^(.*)$ /index.php$1 last; }
  location ~ ^.+\\.php(/|$) {
    fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param PATH_INFO $fastcgi_path_info;
    fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
    fastcgi_param REDIRECT_STATUS 200; fastcgi_keep_conn on; fastcgi_pass 127.0.0.1:${port};
  }
  location /kept/ { internal; return 200 "kept"; }
}`;

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const calls = [
  { it: 'gets the query', request: 'GET /echo?a=1&b[]=2', body: 'GET /index.php {"a":"1","b":["2"]} []' },
  {
    it: 'gets a form',
    request: 'POST /echo',
    init: { headers: form, body: 'x=1&y=%C3%A9' },
    body: 'POST /index.php [] {"x":"1","y":"\\u00e9"}',
  },
  {
    it: 'sets status and headers',
    request: 'GET /status',
    status: 418,
    body: 'teapot',
    headers: { 'x-own': '1, 2' },
  },
  { it: 'redirects', request: 'GET /moved', status: 302, headers: { location: '/elsewhere' } },
  { it: 'streams', request: 'GET /stream', body: 'a'.repeat(100_000) + 'b'.repeat(100_000) },
  {
    it: 'leaves the response to gw',
    request: 'GET /internal',
    body: 'kept',
    headers: { 'content-type': 'text/x-own;charset=UTF-8' },
  },
  { it: 'ends a response early', request: 'GET /after', body: 'early' },
];

for (const { it, request, init, status = 200, ...expected } of calls) {
  test.runIf(HAS_PHP)(`PHP behind "fastcgi_pass" ${it}`, async (t) => {
    const gw = await load(t, site());
    await gw.expect(request, { status, ...expected }, init);
  });
}

test.runIf(HAS_PHP)(
  'PHP behind "fastcgi_pass" tells what went wrong in the log, and its client a 500',
  async (t) => {
    const gw = await load(t, site());
    await gw.expect('GET /broken', { status: 500 });
    expect(gw.errorLog()).toMatch(/FastCGI sent in stderr: "[^"]*something is wrong/);
    expect(gw.errorLog()).toMatch(/Uncaught Exception: nobody caught it/);
  },
);

test.runIf(HAS_PHP)('PHP behind "fastcgi_pass" gets files that are uploaded', async (t) => {
  const gw = await load(t, site());
  const bytes = Buffer.alloc(1_500_000, 'upload ');
  const digest = createHash('md5').update(bytes).digest('hex');
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--x--\r\n')]);
  const headers = { 'Content-Type': 'multipart/form-data; boundary=x' };
  await gw.expect('POST /upload', { status: 413 }, { headers, body });
  const larger = await load(t, `client_max_body_size 4m; ${site()}`);
  await larger.expect(
    'POST /upload',
    { status: 200, body: `a.bin ${bytes.length} ${digest}` },
    { headers, body },
  );
});

test.runIf(HAS_PHP)('PHP behind "fastcgi_pass" keeps sessions by its cookie', async (t) => {
  const gw: Gateway = await load(t, site());
  const first = await gw.fetch('/session');
  const [cookie = ''] = (first.headers.get('set-cookie') ?? '').split(';');
  expect(first.body).toBe('1');
  await gw.expect('GET /session', { status: 200, body: '2' }, { headers: { Cookie: cookie } });
});
