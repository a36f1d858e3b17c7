import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import { startNginx } from '../nginx.ts';
import { type Memory, memoryOf } from '../process-tree.ts';
import { NotInstalled } from '../programs.ts';
import { type Finding, type Row, sizeLine } from '../row.ts';
import { idleMemoryOf, quietMemoryOf } from '../rows/memory.ts';
import { directivesOf, pairOf } from '../scenarios/https.ts';
import { type Content, type Server, startGw } from '../servers.ts';

/** So many that what V8 has not collected yet does not count. */
const CONNECTIONS = 2_000;
const STREAMS = 2_000;
const STREAMS_OF_ONE = 100;
/** Handshakes at a time. */
const AT_ONCE = 100;
/** From the last handshake to the measurement. */
const SETTLE_MS = 2_000;

/** What is opened, and where. */
interface Cost {
  readonly what: string;
  /** Parameters of `listen` in gw, and in nginx if it has them. */
  readonly listen: string;
  readonly nginx: string | undefined;
  readonly location: (bench: Bench) => Promise<string> | string;
  /** How many are opened, and how many of them `open` opens. */
  readonly count: number;
  readonly ofOpen?: number;
  readonly open: (port: number, bench: Bench) => Promise<void>;
}

const RETURN = (): string => 'location / { return 200 ok; }';

const COSTS: readonly Cost[] = [
  {
    what: 'a connection, uWebSockets.js',
    listen: '',
    nginx: '',
    location: RETURN,
    count: CONNECTIONS,
    open: (port, bench) => kept(bench, connect(port, '127.0.0.1')),
  },
  {
    what: 'a connection, node engine',
    listen: 'engine=node',
    nginx: undefined,
    location: RETURN,
    count: CONNECTIONS,
    open: (port, bench) => kept(bench, connect(port, '127.0.0.1')),
  },
  {
    what: 'a TLS connection, uWebSockets.js',
    listen: 'ssl engine=uws',
    nginx: 'ssl',
    location: RETURN,
    count: CONNECTIONS,
    open: keptTls,
  },
  {
    what: 'a TLS connection, node engine',
    listen: 'ssl',
    nginx: undefined,
    location: RETURN,
    count: CONNECTIONS,
    open: keptTls,
  },
  {
    what: 'a stream of HTTP/2 that waits for an upstream, its connections included',
    listen: 'http2',
    nginx: 'http2',
    location: silentUpstream,
    count: STREAMS,
    ofOpen: STREAMS_OF_ONE,
    open: waitingStreams,
  },
];

/** What is measured. */
interface Side {
  readonly content: PortContent;
  readonly start: (bench: Bench, content: Content) => Promise<Server>;
  /** Memory after the start. */
  readonly settled: (server: Server) => Promise<Memory>;
}

/** The memory of one more of each. */
export const costsRow: Row = {
  name: 'costs',
  async run(bench) {
    const lines = [await threadLine(bench)];
    for (const cost of COSTS) lines.push(await bench.apart((own) => costLine(own, cost)));
    return lines;
  },
};

async function threadLine(bench: Bench): Promise<Finding> {
  const [one = 0, three = 0] = await Promise.all(
    [1, 3].map(async (workers) => (await idleMemoryOf(await startGw(bench, RETURN(), workers))).pssBytes),
  );
  return sizeLine({ subject: 'memory of a worker thread', values: [(three - one) / 2 / 1e6], unit: 'MB' });
}

async function costLine(bench: Bench, cost: Cost): Promise<Finding> {
  const location = await cost.location(bench);
  const content = contentOf(bench, cost.listen, location);
  const ofGw = await bytesOf(bench, cost, { content, start: startGw, settled: idleMemoryOf });
  const peer =
    cost.nginx === undefined ? '' : await nginxText(bench, cost, contentOf(bench, cost.nginx, location));
  return sizeLine({ subject: `memory of ${cost.what}`, values: [ofGw / 1e3], unit: 'KB', peer });
}

async function nginxText(bench: Bench, cost: Cost, content: PortContent): Promise<string> {
  try {
    return `${((await bytesOf(bench, cost, { content, start: startNginx, settled: quietMemoryOf })) / 1e3).toFixed(1)} KB`;
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    return error.message;
  }
}

/** The content of a server with a second port, on which it is measured. */
type PortContent = (port: number) => Content;

function contentOf(bench: Bench, listen: string, location: string): PortContent {
  const pair = listen.includes('ssl') ? directivesOf(pairOf(bench)) : '';
  return (port) => `listen 127.0.0.1:${port} ${listen}; ${pair} ${location}`;
}

async function bytesOf(
  bench: Bench,
  { count, ofOpen = 1, open }: Cost,
  { content, start, settled }: Side,
): Promise<number> {
  const port = await freePort();
  const server = await start(bench, content(port));
  const before = await settled(server);
  for (let left = count / ofOpen; left > 0; left -= AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => open(port, bench)));
  await sleep(SETTLE_MS);
  return (memoryOf(server.pid).pssBytes - before.pssBytes) / count;
}

/** Makes a request on a connection, and leaves it open. */
async function kept(bench: Bench, socket: Socket): Promise<void> {
  bench.onTestFinished(async () => void socket.destroy());
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject).once('data', () => resolve());
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  });
}

function keptTls(port: number, bench: Bench): Promise<void> {
  return kept(bench, connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }));
}

/** The location of an upstream that takes requests and never responds. */
async function silentUpstream(bench: Bench): Promise<string> {
  const sockets = new Set<Socket>();
  const upstream = createServer((socket) => sockets.add(socket.on('error', () => undefined).resume()));
  bench.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    upstream.close();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => upstream.listen({ port, host: '127.0.0.1', backlog: 4_096 }, resolve));
  return `${RETURN()} location /silent { proxy_pass http://127.0.0.1:${port}; }`;
}

/** A connection with as many requests as a server takes at a time. */
async function waitingStreams(port: number, bench: Bench): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  bench.onTestFinished(async () => session.destroy());
  await new Promise<void>((resolve, reject) => session.on('error', reject).once('connect', () => resolve()));
  for (let stream = 0; stream < STREAMS_OF_ONE; stream += 1)
    session.request({ ':path': '/silent' }).on('error', () => undefined);
}
