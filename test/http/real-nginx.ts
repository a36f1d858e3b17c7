import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running nginx that confirms our tables of expectations. */
export interface RealNginx {
  /** Sends `GET <target>` and perhaps a header line as raw bytes; gives head and body as they came. */
  get(target: string, header?: string): Promise<{ readonly head: string; readonly body: string }>;
  stop(): Promise<void>;
}

/** Starts the nginx on the PATH with `conf` inside `server{}`; `undefined` when there is none. */
export async function startRealNginx(conf: string): Promise<RealNginx | undefined> {
  if (spawnSync('nginx', ['-v']).error) return undefined;
  const dir = await mkdtemp(join(tmpdir(), 'gw-nginx-'));
  const port = await freePort();
  await writeFile(join(dir, 'nginx.conf'), completeConf(dir, `listen 127.0.0.1:${port}; ${conf}`));

  const nginx = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  nginx.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const exited = new Promise<void>((resolve) => nginx.once('exit', () => resolve()));
  await accepting(port, () => (nginx.exitCode === null ? undefined : errors));
  return {
    get: async (target, header = 'X-None: 1') => {
      const response = await exchange(
        port,
        `GET ${target} HTTP/1.1\r\nHost: a\r\n${header}\r\nConnection: close\r\n\r\n`,
      );
      const end = response.indexOf('\r\n\r\n');
      return { head: response.slice(0, end), body: response.slice(end + 4) };
    },
    stop: async () => {
      nginx.kill('SIGTERM');
      await exited;
      await rm(dir, { recursive: true });
    },
  };
}

function completeConf(dir: string, server: string): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  );
  return `daemon off; master_process off; pid ${dir}/pid; error_log stderr; events {}
    http { access_log off; ${temp.join(' ')} server { ${server} } }`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function accepting(port: number, failure: () => string | undefined): Promise<void> {
  for (;;) {
    const errors = failure();
    if (errors !== undefined) throw new Error(`nginx did not start: ${errors}`);
    if (
      await exchange(port, '').then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function exchange(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () =>
      request === '' ? socket.end() : socket.write(request, 'latin1'),
    );
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.on('error', reject).on('close', () => resolve(received));
  });
}
