import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import { launch } from '../harness/launch.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { connectRaw } from '../harness/raw.ts';
import { directoryWith, HAS_NGINX } from './command.ts';

/*
 * As in nginx: the configuration is found from the prefix; its includes and password files from its own directory;
 * documents, logs, temporary files and the pid file from the prefix again.
 */
const conf = (port: number): string => `
  daemon off; pid run/it.pid; error_log logs/e.log info; worker_processes 1; events {}
  http {
    include http/*.conf;
    client_body_temp_path temp/body; proxy_temp_path temp/p; fastcgi_temp_path temp/f; uwsgi_temp_path temp/u; scgi_temp_path temp/s;
    access_log logs/a.log;
    server {
      listen 127.0.0.1:${port};
      root site;
      location /included { return 200 $included; }
      location /closed { auth_basic "x"; auth_basic_user_file users; try_files /page =404; }
    }
  }`;

const files = {
  'etc/http/map.conf': 'map $uri $included { default "by the directory of the file"; }',
  'etc/users': 'ann:{PLAIN}secret\n',
  'site/page': 'a page',
  'logs/keep': '',
  'run/keep': '',
  'temp/keep': '',
};

async function paths(t: Owner, command: readonly string[]): Promise<Record<string, unknown>> {
  const port = await freePort();
  const dir = directoryWith(t, { ...files, 'etc/it.conf': conf(port), 'elsewhere/keep': '' });
  const [program = '', ...words] = command;
  const server = launch(program, [...words, '-p', dir, '-c', 'etc/it.conf'], { cwd: join(dir, 'elsewhere') });
  t.onTestFinished(async () => void (await server.stop('SIGTERM')));
  const connects = (): Promise<boolean> =>
    connectRaw(port).then(
      (connection) => {
        connection.destroy();
        return true;
      },
      () => false,
    );
  await expect.poll(connects, { timeout: 15_000 }).toBe(true);
  const authorization = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  const read = (path: string): string => readFileSync(join(dir, path), 'utf8');
  const responses = {
    included: (await call(port, '/included')).body,
    page: (await call(port, '/page')).body,
    closed: (await call(port, '/closed')).status,
    open: (await call(port, '/closed', { headers: { authorization } })).body,
  };
  // The port is open before the file is written.
  await expect.poll(() => existsSync(join(dir, 'run/it.pid')), { timeout: 15_000 }).toBe(true);
  await expect.poll(() => read('logs/a.log').split('\n'), { timeout: 15_000 }).toHaveLength(5);
  return { ...responses, pid: /^\d+\n$/.test(read('run/it.pid')), log: read('logs/e.log') !== '' };
}

const expected = {
  included: 'by the directory of the file',
  page: 'a page',
  closed: 401,
  open: 'a page',
  pid: true,
  log: true,
};

test('relative paths of gw start where those of nginx start', async (t) => {
  expect(await paths(t, [process.execPath, GW])).toEqual(expected);
});

test.runIf(HAS_NGINX)('relative paths of nginx start at the expected directories', async (t) => {
  expect(await paths(t, ['nginx', '-g', 'master_process off;'])).toEqual(expected);
});
