import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from '../../harness/launch.ts';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import { programPath } from '../programs.ts';
import { ownDir, type Server, startServer } from '../servers.ts';

/** JavaScript that defines `load`, which gives the build of uWebSockets.js for this version of Node.js. */
const LOAD_UWS = `
    const [first, second] = ${JSON.stringify(
      ['uWebSockets.js', 'uWebSockets.js-node24'].map((name) => resolve('node_modules', name)),
    )};
    const load = () => { try { return require(first); } catch { return require(second); } };`;

/** The least work for uWebSockets.js: a route and a text, `ok` unless `body` is another expression, over `data` if it likes. */
export async function startBareUws(bench: Bench, { body = `'ok'`, data = '{}' } = {}): Promise<Server> {
  const port = await freePort();
  const source = `${LOAD_UWS}
    const data = ${data};
    load().App()
      .get('/*', (res) => { res.end(${body}); })
      .post('/*', (res) => {
        res.onAborted(() => {});
        res.onData((bytes, isLast) => { if (isLast) res.end(${body}); });
      })
      .listen('127.0.0.1', ${port}, (socket) => { if (!socket) process.exit(1); });`;
  return startServer(bench, { command: [process.execPath, '-e', source], dir: bench.dir, port });
}

/** The least work for `node:http2`: a text for each stream. */
export function startBareHttp2(bench: Bench): Promise<Server> {
  const source = `
    const server = require('node:http2').createServer();
    server.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-length': 2 });
      stream.end('ok');
    });`;
  return startBare(bench, source);
}

/** The least work for a relay of gRPC calls over `node:http2`: streams are passed on as they come, with their trailers. */
export function startBareRelay(bench: Bench, upstreamPort: number): Promise<Server> {
  const source = `
    const http2 = require('node:http2');
    const upstream = http2.connect('http://127.0.0.1:${upstreamPort}');
    const server = http2.createServer();
    server.on('stream', (stream, { ':path': path, ':method': method, 'content-type': type, te }) => {
      const call = upstream.request({ ':path': path, ':method': method, 'content-type': type, te }, { endStream: false });
      let trailers = {};
      call.on('response', ({ ':status': status, 'content-type': type }) => {
        if (stream.destroyed) return;
        stream.respond({ ':status': status, 'content-type': type }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers(trailers));
        call.on('data', (bytes) => stream.write(bytes));
        call.on('end', () => stream.end());
      });
      call.on('trailers', (fields) => { trailers = { ...fields }; });
      stream.on('data', (bytes) => call.write(bytes));
      stream.on('end', () => call.end());
      // The load generator leaves in the middle of calls.
      stream.on('error', () => call.destroy());
      call.on('error', () => stream.destroy());
    });
    server.on('sessionError', () => undefined);`;
  return startBare(bench, source);
}

/**
 * The least work for a relay of HTTP from uWebSockets.js to sockets of Node.js, as gw's default engine forwards requests:
 * connections are kept, heads are read and written anew, and whole bodies are passed on.
 */
export async function startBareProxy(bench: Bench, upstreamPort: number): Promise<Server> {
  const port = await freePort();
  const source = `${LOAD_UWS}
    const { connect } = require('node:net');
    const idle = [];
    function open() {
      const socket = connect({ port: ${upstreamPort}, host: '127.0.0.1', noDelay: true });
      socket.on('error', () => socket.destroy());
      socket.on('data', (bytes) => take(socket, bytes));
      return socket;
    }
    function take(socket, bytes) {
      const all = socket.rest ? Buffer.concat([socket.rest, bytes]) : bytes;
      const end = all.indexOf('\\r\\n\\r\\n');
      const lines = end < 0 ? [] : all.latin1Slice(0, end).split('\\r\\n');
      const fields = lines.slice(1).map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
      const length = fields.find(([name]) => name.toLowerCase() === 'content-length');
      if (end < 0 || all.length < end + 4 + Number(length[1])) return void (socket.rest = all);
      socket.rest = undefined;
      const { res } = socket;
      idle.push(socket);
      if (res.gone) return;
      res.cork(() => {
        res.writeStatus(lines[0].slice(9));
        for (const [name, value] of fields) if (!/^(connection|content-length|date)$/i.test(name)) res.writeHeader(name, value);
        res.end(all.subarray(end + 4));
      });
    }
    load().App()
      .any('/*', (res, req) => {
        res.onAborted(() => { res.gone = true; });
        let head = req.getMethod().toUpperCase() + ' ' + req.getUrl() + ' HTTP/1.1\\r\\n';
        req.forEach((name, value) => { if (name !== 'connection') head += name + ': ' + value + '\\r\\n'; });
        const socket = idle.pop() || open();
        socket.res = res;
        socket.write(head + '\\r\\n', 'latin1');
      })
      .listen('127.0.0.1', ${port}, (socket) => { if (!socket) process.exit(1); });`;
  return startServer(bench, { command: [process.execPath, '-e', source], dir: bench.dir, port });
}

/** The least work for `node:tls`: a text of HTTP for whatever comes, and the end of the connection. */
export function startBareTls(
  bench: Bench,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): Promise<Server> {
  const source = `
    const { readFileSync } = require('node:fs');
    const [cert, key] = [${JSON.stringify(certificate)}, ${JSON.stringify(key)}].map((file) => readFileSync(file));
    const text = 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok';
    const server = require('node:tls').createServer({ cert, key }, (socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end(text));
    });`;
  return startBare(bench, source);
}

/** The least work for an echo of WebSockets. */
export async function startBareEcho(bench: Bench): Promise<Server> {
  const port = await freePort();
  const source = `${LOAD_UWS}
    load().App()
      .ws('/*', { message: (socket, message, isBinary) => { socket.send(message, isBinary); } })
      .any('/*', (res) => { res.end('ok'); })
      .listen('127.0.0.1', ${port}, (socket) => { if (!socket) process.exit(1); });`;
  return startServer(bench, { command: [process.execPath, '-e', source], dir: bench.dir, port });
}

/** Starts the `server` of a script. */
function startBare(bench: Bench, source: string): Promise<Server> {
  const script = `${source}
    server.listen(Number(process.argv[1]), '127.0.0.1', () => console.log('ready'));`;
  return startSilent(bench, ['-e', script]);
}

/** Starts a program, with a free port as its last argument, and waits until it says `ready`: it may speak no HTTP/1. */
async function startSilent(bench: Bench, args: readonly string[]): Promise<Server> {
  const port = await freePort();
  const server = launch(process.execPath, [...args, String(port)], { cwd: bench.dir });
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

/** The program of `fastcgi-hello.ts` or `grpc-hello.ts`. */
export function startHello(bench: Bench, kind: 'fastcgi' | 'grpc'): Promise<Server> {
  return startSilent(bench, [resolve(`dist/test/bench/peers/${kind}-hello.js`)]);
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
