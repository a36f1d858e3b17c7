import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, HAS_NGINX, runIn } from '../cli/command.ts';
import { firstAsProgram } from '../cli/in-process.ts';
import { type Owner, wholeFile } from '../harness/owner.ts';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import { launch } from '../harness/launch.ts';
import { freePort } from '../harness/ports.ts';
import { connectRaw } from '../harness/raw.ts';
import { ROOT, textOf } from './files.ts';

const gw = firstAsProgram();
const file = wholeFile();

/** Configurations of everyday use, with all that they contain: each has to load. */
const EVERYDAY = join(ROOT, 'test/conf/everyday');

/** Directives that Debian's 1.22 does not know yet. */
const NEWER_THAN_OUR_NGINX: ReadonlySet<string> = new Set(['proxy-manager.conf']);

let made: string | undefined;

/** The directory with the key and the certificate of all sites. */
function certificate(): string {
  if (made !== undefined) return made;
  const dir = (made = directoryWith(file, {}));
  const words = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=example.com'];
  const out = ['-keyout', join(dir, 'k.pem'), '-out', join(dir, 'c.pem')];
  spawnSync('openssl', ['req', '-x509', ...words, ...out]);
  return dir;
}

function directory(t: Owner, name: string): string {
  const dir = directoryWith(t, {
    'nginx.conf': readFileSync(join(EVERYDAY, name), 'utf8'),
    'mime.types': textOf('conf/mime.types'),
    htpasswd: 'ann:{PLAIN}secret\n',
    'logs/keep': '',
  });
  if (name.startsWith('tls'))
    for (const each of ['k.pem', 'c.pem']) cpSync(join(certificate(), each), join(dir, each));
  return dir;
}

for (const name of readdirSync(EVERYDAY)) {
  test(`gw loads ${name}`, async (t) => {
    const dir = directory(t, name);
    const { code, stderr } = await gw(dir, ['-t', '-p', dir, '-c', 'nginx.conf']);
    expect(stderr).not.toContain('[emerg]');
    expect(code).toBe(0);
  });

  test.runIf(HAS_NGINX && !NEWER_THAN_OUR_NGINX.has(name))(`nginx loads ${name} too`, async (t) => {
    const dir = directory(t, name);
    const { stderr } = await runIn(dir, ['nginx', '-t', '-p', dir, '-c', join(dir, 'nginx.conf')]);
    expect(stderr).toContain('syntax is ok');
  });
}

const DEBIAN = '/etc/nginx';
const HAS_DEBIAN = existsSync(join(DEBIAN, 'sites-available/default'));
const title = HAS_DEBIAN ? '' : ` (skipped: ${DEBIAN} has no configuration of Debian's package)`;

/** A copy of the configuration in the package, on another port, with its logs and pid file beside it. */
async function debian(t: Owner): Promise<{ dir: string; port: number }> {
  const dir = directoryWith(t, { 'log/keep': '' });
  cpSync(DEBIAN, join(dir, 'etc'), { recursive: true, dereference: true });
  const port = await freePort();
  const change = (path: string, edit: (text: string) => string): void =>
    writeFileSync(join(dir, 'etc', path), edit(readFileSync(join(dir, 'etc', path), 'utf8')));
  change('nginx.conf', (text) =>
    text
      .replaceAll('/etc/nginx/', `${dir}/etc/`)
      .replaceAll('/var/log/nginx/', `${dir}/log/`)
      .replaceAll('/run/nginx.pid', `${dir}/nginx.pid`),
  );
  change('sites-enabled/default', (text) =>
    text
      .replaceAll('listen [::]:80', `listen [::1]:${port}`)
      .replaceAll('listen 80', `listen 127.0.0.1:${port}`)
      .replaceAll('root /var/www/html', `root ${dir}/html`),
  );
  mkdirSync(join(dir, 'html'));
  writeFileSync(join(dir, 'html/index.nginx-debian.html'), 'Welcome!');
  return { dir, port };
}

test.skipIf(!HAS_DEBIAN)(`the configuration in Debian's package loads unchanged${title}`, async (t) => {
  const dir = directoryWith(t, {});
  expect(await gw(dir, ['-t', '-q', '-c', `${DEBIAN}/nginx.conf`])).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test.skipIf(!HAS_DEBIAN)(`the configuration in Debian's package serves${title}`, async (t) => {
  const { dir, port } = await debian(t);
  const gateway = launch(process.execPath, [GW, '-c', `${dir}/etc/nginx.conf`], { cwd: dir });
  t.onTestFinished(async () => void (await gateway.stop('SIGTERM')));
  await expect
    .poll(
      () =>
        connectRaw(port).then(
          (connection) => connection.destroy() ?? true,
          () => false,
        ),
      { timeout: 15_000 },
    )
    .toBe(true);
  const welcome = await call(port, '/');
  expect([welcome.status, welcome.headers.get('content-type'), welcome.body]).toEqual([
    200,
    'text/html',
    'Welcome!',
  ]);
  expect((await call(port, '/none')).status).toBe(404);
  await expect
    .poll(() => readFileSync(join(dir, 'log/access.log'), 'utf8'))
    .toMatch(/"GET \/none HTTP\/1\.1" 404 /);
  rmSync(join(dir, 'html/index.nginx-debian.html'));
  expect((await call(port, '/')).status).toBe(403);
});

test.skipIf(!HAS_DEBIAN)(`every snippet of Debian's package loads${title}`, async (t) => {
  const dir = directoryWith(t, {
    'nginx.conf': `events {} http { include ${DEBIAN}/mime.types; server { listen 127.0.0.1:18998;
      location / { include ${DEBIAN}/proxy_params; proxy_pass http://127.0.0.1:1; }
      location /f { include ${DEBIAN}/fastcgi_params; include ${DEBIAN}/scgi_params; include ${DEBIAN}/uwsgi_params; return 200; } } }`,
  });
  expect(await gw(dir, ['-t', '-q', '-c', 'nginx.conf'])).toEqual({ code: 0, stdout: '', stderr: '' });
});
