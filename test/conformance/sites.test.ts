import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { redact } from '../../src/log/index.ts';
import { check, load } from '../../src/pipeline.ts';
import { GW } from '../harness/gateway.ts';
import { type CallInit, call, type ReceivedResponse } from '../harness/http.ts';
import { launch } from '../harness/launch.ts';
import { type Owner, wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { startProgram } from '../harness/scripted-program.ts';
import { maskPort } from './mask-port.ts';
import { HAS_NGINX } from './nginx.ts';
import { responseLine } from './response-line.ts';
import { makeSite } from './site.ts';

/*
 * sites/NAME/: a configuration as a distribution, a framework or a generator of configurations ships it, in its own files; `nginx.conf`
 * is the first of them. Names between `@` stand for ports, directories and the user. sites/NAME.recorded has the responses to a
 * hundred requests, recorded from a real nginx and the lines of its logs (RECORD=1 writes them again); where nginx is on the PATH it still has to give them, and
 * gw always.
 */
const directory = fileURLToPath(new URL('sites/', import.meta.url));

const PATHS = [
  '/ /index.html /page.html /page /alpha.txt /empty.txt /data.bin /picture.gif /no-extension /UPPER.HTML',
  '/none /none.html /none.php /index.php /index.php/more/path?x=1 /wp-login.php /wp-admin /wp-json/wp/v2/posts?per_page=2',
  '/docs /docs/ /docs/other.html /docs/../page.html //page.html /%70age.html /docs/..%2fpage.html /with%20space%20%25.txt',
  '/.hidden /.git/config /.htaccess /list/.hidden /alpha.txt.bak /.well-known/acme-challenge/token /.well-known/carddav',
  '/robots.txt /favicon.ico /50x.html /style.123.css /picture.1.gif /?a=b /none?x=1&y=%20 /api/items?id=7 /health',
  '/remote.php/webdav /config/x /img/a.gif /spa/deep/route',
].flatMap((line) => line.split(' '));

const REQUESTS: readonly string[] = [
  ...PATHS.map((path) => `GET ${path}`),
  ...PATHS.filter((_, index) => index % 3 === 0).map((path) => `HEAD ${path}`),
  ...PATHS.filter((_, index) => index % 3 === 1).map((path) => `GET ${path} | Accept-Encoding: gzip`),
  ...PATHS.filter((_, index) => index % 5 === 2).map((path) => `GET ${path} | Host: www.example.com`),
  ...['/', '/none', '/alpha.txt'].map((path) => `GET ${path} | Host: other.example`),
  ...['/', '/index.php', '/alpha.txt', '/none', '/api/x'].map((path) => `POST ${path} << a=1&b=2`),
  'GET /alpha.txt | Range: bytes=2-5',
  'GET /alpha.txt | If-Modified-Since: Thu, 29 Feb 2024 12:34:56 GMT',
  'GET / | Cookie: wordpress_logged_in=1 | X-Forwarded-For: 10.0.0.1 | X-Forwarded-Proto: https',
  'GET / | Origin: https://sub.example.com | User-Agent: DavClnt/1.0',
  'DELETE /alpha.txt',
  'OPTIONS /alpha.txt',
  'PROPFIND /docs/',
];

const TLS_REQUESTS: readonly string[] = [
  '/',
  '/alpha.txt',
  '/none',
  '/.hidden',
  '/index.php',
  '/docs',
].flatMap((path) => [`GET ${path}`, `HEAD ${path}`, `GET ${path} | Host: www.example.com`]);

const SHOWN = [
  'accept-ranges allow cache-control content-encoding content-range content-security-policy etag expires last-modified',
  'access-control-allow-origin cross-origin-opener-policy permissions-policy referrer-policy strict-transport-security vary',
].flatMap((line) => line.split(' '));

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('site', 'ca', { names: ['example.com', '*.example.com'] });
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

/** What a FastCGI program shows of its parameters. */
const PARAMS = ['SCRIPT_FILENAME', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'REQUEST_URI', 'HTTPS'];

/** The values of the names between `@`. */
type Names = Readonly<Record<string, string>>;

async function namesFor(t: Owner, dir: string, site: string): Promise<Names> {
  const program = await startProgram(t, 'fastcgi', ({ params, body }) => {
    const known = new Map(params);
    const lines = PARAMS.map((name) => `${name}=${known.get(name) ?? '-'}`);
    return [`Content-Type: text/html\r\nX-Powered-By: PHP\r\n\r\n${[...lines, body.toString()].join(' ')}`];
  });
  const upstream = createServer(({ method, url, rawHeaders }, response) =>
    response.setHeader('Content-Type', 'text/plain').end(`${method} ${url} ${shownHeaders(rawHeaders)}`),
  );
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    upstream.closeAllConnections();
    upstream.close();
  });
  return {
    DIR: dir,
    SITE: site,
    USER: userInfo().username,
    PORT: String(await freePort()),
    TLS: String(await freePort()),
    FASTCGI: String(program.port),
    UPSTREAM: String((upstream.address() as AddressInfo).port),
  };
}

/** uWebSockets.js tells names in lower case; `Connection: close` is nginx's default until 1.29.7, as is HTTP/1.0. */
function shownHeaders(raw: readonly string[]): string {
  const shown = raw.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text)).join('|');
  return shown.replace(/\|?connection\|close/, '');
}

/** Puts values in place of the names in all files of a directory. */
function fillIn(dir: string, names: Names): void {
  for (const entry of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const path = join(dir, entry);
    if (!statSync(path).isFile()) continue;
    const text = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      text.replaceAll(/@([A-Z]+)@/g, (_, name: string) => names[name] ?? ''),
    );
  }
}

function temporary(t: Owner): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-site-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Makes the directory of a site. */
async function build(t: Owner, site: string, dir = temporary(t)): Promise<Names> {
  rmSync(dir, { recursive: true, force: true });
  cpSync(join(directory, site), dir, { recursive: true });
  for (const folder of ['temp', 'tls']) mkdirSync(join(dir, folder));
  const names = await namesFor(t, dir, makeSite(t));
  fillIn(dir, names);
  writeFileSync(join(dir, 'tls/cert.pem'), certificates.read('site.crt'));
  writeFileSync(join(dir, 'tls/key.pem'), certificates.read('site.key'), { mode: 0o600 });
  return names;
}

/** A supervisor and the rules have tests of their own; they would take longer than the requests. */
const ALONE = `master_process off; check { log off; } ${ON_NODE_ENGINE ? 'http_engine node;' : ''}`;

interface Site {
  readonly names: Names;
  /** Ends what serves the site, so that its logs are complete. */
  readonly stop: () => Promise<void>;
}

const servers: Readonly<Record<string, (t: Owner, site: string) => Promise<Site>>> = {
  ...(HAS_NGINX && { nginx: startNginx }),
  gw: loadIntoGateway,
};

async function startNginx(t: Owner, site: string): Promise<Site> {
  const names = await build(t, site);
  const { DIR: dir = '' } = names;
  const options = ['-p', dir, '-c', join(dir, 'nginx.conf'), '-g', 'daemon off; master_process off;'];
  const nginx = launch('nginx', options, { cwd: dir });
  const stop = async (): Promise<void> => void (await nginx.stop('SIGTERM'));
  t.onTestFinished(stop);
  await expect
    .poll(
      () => {
        if (nginx.exit()) throw new Error(`nginx did not start: ${nginx.output()}`);
        return readdirSync(dir).includes('nginx.pid');
      },
      { timeout: 10_000 },
    )
    .toBe(true);
  return { names, stop };
}

const file = wholeFile();
let gateway: Promise<SiteGateway> | undefined;

/** Reads one site after another, each in the same directory: a start takes longer than the requests of a site. */
interface SiteGateway {
  readonly dir: string;
  /** Loads the configuration of the directory, with more directives in front of it. */
  readonly load: (conf: string) => Promise<void>;
}

async function startGateway(): Promise<SiteGateway> {
  const home = temporary(file);
  const [dir, log] = [join(home, 'site'), join(home, 'reloads')];
  mkdirSync(dir);
  const write = (conf: string): void =>
    writeFileSync(join(dir, 'nginx.conf'), `${ALONE} error_log ${log} notice;\n${conf}`);
  const logged = async (pattern: RegExp, from = 0): Promise<void> =>
    expect.poll(() => existsSync(log) && readFileSync(log, 'utf8').slice(from)).toMatch(pattern);
  write(idle(dir));
  const gw = launch(process.execPath, [GW, '-c', join(dir, 'nginx.conf')], { cwd: home });
  file.onTestFinished(async () => void (await gw.stop('SIGTERM')));
  await logged(/start worker processes/);
  const load = async (conf: string): Promise<void> => {
    const from = readFileSync(log).length;
    write(conf);
    process.kill(gw.pid, 'SIGHUP');
    await logged(/reload (?:done|refused)/, from);
    expect(readFileSync(log, 'utf8').slice(from)).not.toContain('reload refused');
  };
  return { dir, load };
}

/** Serves nothing. */
function idle(dir: string): string {
  return `user ${userInfo().username}; pid ${dir}/nginx.pid; events { } http { }`;
}

async function loadIntoGateway(t: Owner, site: string): Promise<Site> {
  const { dir, load } = await (gateway ??= startGateway());
  const names = await build(t, site, dir);
  await load(readFileSync(join(dir, 'nginx.conf'), 'utf8'));
  return { names, stop: () => load(idle(dir)) };
}

/** A server may close a connection that it has accepted, as with `return 444`. */
const isClosed = (error: Error & { code?: string }): boolean => error.code !== 'ECONNREFUSED';

function callTls(port: number, path: string, init: CallInit = {}): Promise<ReceivedResponse> {
  const headers = init.headers as Record<string, string>;
  return new Promise((resolve, reject) => {
    const options = { port, path, method: init.method, headers, agent: false, rejectUnauthorized: false };
    const sending = requestTls({ host: '127.0.0.1', servername: 'example.com', ...options }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        const bytes = Buffer.concat(pieces);
        const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(pairs),
          bytes,
          body: bytes.toString(),
        });
      });
    });
    sending.on('error', reject).end();
  });
}

/** Puts names in place of what differs from run to run. */
function masked(text: string, names: Names): string {
  let shown = text.replaceAll(names['SITE'] ?? '', 'SITE');
  for (const name of ['TLS', 'UPSTREAM', 'PORT', 'FASTCGI'])
    shown = maskPort(shown, Number(names[name]), name);
  return shown;
}

/** The requests that a site has for itself. */
function ownRequests(site: string): readonly string[] {
  const file = join(directory, `${site}.requests`);
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
}

async function responses(site: string, names: Names): Promise<string> {
  let given = '';
  const mask = (line: string): string => masked(line, names);
  const withHost = (request: string): string =>
    request.includes('| Host:') ? request : request.replace(/^(\S+ \S+)/, '$1 | Host: example.com');
  for (const request of [...REQUESTS, ...ownRequests(site)])
    given += mask(
      `${request} => ${await responseLine(Number(names['PORT']), withHost(request), { shown: SHOWN })}\n`,
    );
  const secure = { shown: SHOWN, send: callTls };
  for (const request of TLS_REQUESTS)
    given += mask(
      `https ${request} => ${await responseLine(Number(names['TLS']), withHost(request), secure)}\n`,
    );
  return given;
}

/** What was recorded; gw masks secrets in logs, which nginx writes there. */
function expectedOf(name: string, recorded: string): string {
  return name === 'nginx' ? recorded : recorded.replaceAll(/^\S+\.log .*$/gm, (line) => redact(line));
}

/**
 * The lines of the logs, without what differs from run to run. They are sorted: two servers that write to one file through buffers
 * do so in any order.
 */
function logLines(dir: string): string {
  const files = readdirSync(dir).filter((name) => name.endsWith('.log'));
  return files
    .toSorted()
    .flatMap((file) =>
      readFileSync(join(dir, file), 'utf8')
        .split('\n')
        .filter((line) => (file.endsWith('error.log') ? / \*\d+ /.test(line) : line !== ''))
        .map((line) => `${file} ${withoutTimes(line)}\n`)
        .toSorted(),
    )
    .join('');
}

/** Pages of the server itself have its name in them, so that their sizes differ. */
function withoutTimes(line: string): string {
  return line
    .replace(/^\S+ \S+ (\[\w+\]) \d+#\d+: \*\d+ /, '$1 ')
    .replace(/\[\d\d\/[^\]]*\] ?/, '')
    .replace(/(" \d{3}) \d+/, '$1');
}

const sites = readdirSync(directory).filter((name) => !name.includes('.'));

for (const site of sites) {
  for (const [name, serve] of Object.entries(servers)) {
    test.runIf(HAS_OPENSSL)(`${name} serves a site of ${site} as recorded`, async (t) => {
      const { names, stop } = await serve(t, site);
      await expect.poll(() => call(Number(names['PORT']), '/').then(() => true, isClosed)).toBe(true);
      const received = await responses(site, names);
      await stop();
      const given = (): string => received + masked(logLines(names['DIR'] ?? ''), names);
      const recorded = join(directory, `${site}.recorded`);
      if (process.env['RECORD'] && name === 'nginx') writeFileSync(recorded, given());
      // A configuration that was replaced closes its logs a moment later.
      else await expect.poll(given).toBe(expectedOf(name, readFileSync(recorded, 'utf8')));
    });
  }
}

/** What `gw check` says of the sites that is more than a note. All of it is true. */
const FINDINGS: Readonly<Record<string, readonly string[]>> = {
  debian: ['nginx.conf GW501 weak-protocols'],
  discourse: [
    'nginx.conf GW405 host-spoofing',
    'nginx.conf GW405 host-spoofing',
    'nginx.conf GW211 if-is-evil',
    'nginx.conf GW304 header-redefinition',
    'nginx.conf GW304 header-redefinition',
    'nginx.conf GW405 host-spoofing',
    'nginx.conf GW202 regex-shadows-prefix',
    'nginx.conf GW202 regex-shadows-prefix',
    'nginx.conf GW405 host-spoofing',
  ],
  django: ['nginx.conf GW405 host-spoofing'],
  drupal: ['nginx.conf GW209 regex-redos'],
  laravel: ['nginx.conf GW207 no-default-server'],
  mediawiki: [
    'nginx.conf GW221 node-engine-only',
    'nginx.conf GW202 regex-shadows-prefix',
    'nginx.conf GW202 regex-shadows-prefix',
  ],
  moodle: ['nginx.conf GW430 fastcgi-any-script', 'nginx.conf GW202 regex-shadows-prefix'],
  nextcloud: ['nginx.conf GW221 node-engine-only', 'nginx.conf GW304 header-redefinition'],
  'nginx-org': ['conf.d/default.conf GW430 fastcgi-any-script'],
  'nginx-proxy': ['conf.d/default.conf GW404 proxy-header-redefinition'],
  nginxconfig: [
    'sites-enabled/example.com.conf GW207 no-default-server',
    'sites-enabled/example.com.conf GW116 deprecated',
    'sites-enabled/example.com.conf GW116 deprecated',
    'nginxconfig.io/general.conf GW304 header-redefinition',
  ],
  synapse: [
    'nginx.conf GW116 deprecated',
    'nginx.conf GW201 unreachable-location',
    'nginx.conf GW304 header-redefinition',
    'nginx.conf GW304 header-redefinition',
  ],
  rails: ['nginx.conf GW411 keepalive-headers', 'nginx.conf GW405 host-spoofing'],
};

/** The sites run as the user who runs the tests. */
const AS_ROOT = 'GW911';

for (const site of sites) {
  test.runIf(HAS_OPENSSL)(
    `gw check finds what is wrong with a site of ${site}, and nothing else`,
    async (t) => {
      const { DIR = '' } = await build(t, site);
      const source = { confFile: join(DIR, 'nginx.conf'), name: 'nginx.conf', prefix: DIR };
      const findings = await check(load(source, { advise: true }), { ignore: [AS_ROOT] });
      const serious = findings.filter(({ severity }) => severity !== 'info');
      expect(
        serious.map(({ span, rule, slug }) => `${span?.source.name.replace(`${DIR}/`, '')} ${rule} ${slug}`),
      ).toEqual(FINDINGS[site] ?? []);
    },
  );
}
