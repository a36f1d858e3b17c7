import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from '../../harness/launch.ts';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import { programPath } from '../programs.ts';
import { ownDir, type Server, startServer } from '../servers.ts';

/** The least work for uWebSockets.js: a route and a text, `ok` unless `body` is another expression, over `data` if it likes. */
export async function startBareUws(bench: Bench, { body = `'ok'`, data = '{}' } = {}): Promise<Server> {
  const port = await freePort();
  const builds = ['uWebSockets.js', 'uWebSockets.js-node24'].map((name) => resolve('node_modules', name));
  const source = `
    const data = ${data};
    const [first, second] = ${JSON.stringify(builds)};
    const load = () => { try { return require(first); } catch { return require(second); } };
    load().App()
      .get('/*', (res) => { res.end(${body}); })
      .post('/*', (res) => {
        res.onAborted(() => {});
        res.onData((bytes, isLast) => { if (isLast) res.end(${body}); });
      })
      .listen('127.0.0.1', ${port}, (socket) => { if (!socket) process.exit(1); });`;
  return startServer(bench, { command: [process.execPath, '-e', source], dir: bench.dir, port });
}

/** The least work for `node:http2`: a text for each stream. It says when it is ready, because it speaks no HTTP/1. */
export async function startBareHttp2(bench: Bench): Promise<Server> {
  const port = await freePort();
  const source = `
    const server = require('node:http2').createServer();
    server.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-length': 2 });
      stream.end('ok');
    });
    server.listen(${port}, '127.0.0.1', () => console.log('ready'));`;
  const server = launch(process.execPath, ['-e', source], { cwd: bench.dir });
  bench.onTestFinished(async () => void (await server.stop()));
  await server.waitForOutput(/ready/);
  return { port, pid: server.pid };
}

/** A Webdis with one thread in front of a Redis. */
export async function startWebdis(bench: Bench, redisPort: number): Promise<Server> {
  const program = programPath('webdis');
  const port = await freePort();
  const dir = ownDir(bench, `webdis-${port}`);
  const conf = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 1,
    pool_size: 20,
    daemonize: false,
    database: 0,
    verbosity: 0,
    logfile: join(dir, 'webdis.log'),
  };
  writeFileSync(join(dir, 'webdis.json'), JSON.stringify(conf));
  return startServer(bench, { command: [program, join(dir, 'webdis.json')], dir, port });
}

/** The program of `fastcgi-hello.ts`. */
export async function startFastcgi(bench: Bench): Promise<Server> {
  const port = await freePort();
  const program = resolve('dist/test/bench/peers/fastcgi-hello.js');
  const server = launch(process.execPath, [program, String(port)], { cwd: bench.dir });
  bench.onTestFinished(async () => void (await server.stop()));
  await server.waitForOutput(/ready/);
  return { port, pid: server.pid };
}

/** The service of `fastify-pg.ts`, in one process. */
export async function startFastify(
  bench: Bench,
  { dsn, sessions }: { readonly dsn: string; readonly sessions: number },
): Promise<Server> {
  const port = await freePort();
  const program = resolve('dist/test/bench/peers/fastify-pg.js');
  return startServer(bench, {
    command: [process.execPath, program, String(port), dsn, String(sessions)],
    dir: bench.dir,
    port,
    env: { ...process.env, NODE_ENV: 'production' },
  });
}
