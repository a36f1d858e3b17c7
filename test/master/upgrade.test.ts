import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStatus } from '../../src/master/index.ts';
import { listensOn } from '../../src/system/index.ts';
import { Certificates } from '../harness/certificates.ts';
import type { Gateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { freeLowPort, freePort } from '../harness/ports.ts';
import { IS_LONG, perTier } from '../harness/tier.ts';
import { VERSION } from '../../src/version.ts';
import { type Change, installation, OTHER_VERSION, upgraded } from './installed.ts';
import { Lanes } from './lanes.ts';
import { isAlive, masterPid, startSupervised } from './processes.ts';
import { childrenOf, getOverUnix, IS_ROOT, NOBODY, rightsOf, startAsNobody } from './rights.ts';

const LIMIT_MS = 600_000;
const CONF = `server {
  location / { return 200 ok; }
  location /stream { worker_events_api; worker_events_stream on; worker_events_zone z; worker_events_channel c; }
}`;

/** An upstream that responds when the test says so. */
async function slowUpstream(t: Owner): Promise<{ port: number; asked: () => Promise<() => void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => void server.close());
  const asked = async (): Promise<() => void> => {
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    return () => void response.end('at last');
  };
  return { port: (server.address() as AddressInfo).port, asked };
}

for (const engine of perTier({ short: ['auto'], long: ['auto', 'node'] })) {
  test.concurrent(
    `upgrades in a row lose no request, whoever sends it, on ports of all kinds (http_engine ${engine})`,
    { timeout: LIMIT_MS },
    async (t) => {
      const { program, install } = installation(t);
      const upstream = await slowUpstream(t);
      const [more, secure, fast] = [await freePort(), await freePort(), await freePort()];
      const certificates = new Certificates();
      certificates.authority('a');
      const gw = await startSupervised(
        t,
        (
          _,
          port,
        ) => `ssl_certificate ${certificates.path('a.crt')}; ssl_certificate_key ${certificates.path('a.key')};
          ${CONF.replace(
            'server {',
            `server {
            listen 127.0.0.1:${port}; listen 127.0.0.1:${more} engine=node; listen 127.0.0.1:${secure} ssl engine=node;
            listen 127.0.0.1:${fast} ssl;
            location /slow { proxy_pass http://127.0.0.1:${upstream.port}; }`,
          )}`,
        {
          program,
          workers: 2,
          main: `http_engine ${engine}${engine === 'auto' ? ' tls' : ''}; worker_shutdown_timeout 60s;`,
        },
      );
      const lanes = [gw.port, more, secure, fast].map(
        (port) => new Lanes({ port, tls: port === secure || port === fast, fresh: 3, kept: 3 }),
      );
      for (let round = 0; round < perTier({ short: 2, long: 10 }); round += 1) {
        if (round === 0) install(OTHER_VERSION);
        await upgradeWithRequests(gw, upstream);
        for (const lane of lanes) await lane.responses(40);
      }
      for (const lane of lanes) expect((await lane.stop()).failures).toEqual([]);
      expect(gw.errorLog()).toContain(`gw/${VERSION} was upgraded to gw/0.1.0-next`);
    },
  );
}

/** Upgrades a gateway while a stream is open and a request waits for its upstream: neither may be cut. */
async function upgradeWithRequests(
  gw: Gateway,
  upstream: Awaited<ReturnType<typeof slowUpstream>>,
): Promise<void> {
  const stream = await gw.connect();
  stream.write('GET /stream HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n');
  await stream.until(/200 OK[^]*\r\n\r\n/);
  const running = masterPid(gw);
  const from = gw.errorLog().length;
  const done = upgraded(gw);
  await gw.waitForLog(/a new program starts/, from);
  const [response, respond] = [gw.fetch('/slow'), await upstream.asked()];
  expect(await done).toMatchObject({ isDone: true });
  await gw.waitForLog(new RegExp(`${running}#0: the listening sockets are closed`), from);
  respond();
  expect(await response).toMatchObject({ status: 200, body: 'at last' });
  expect(masterPid(gw)).not.toBe(running);
  // A stream that was cut would lack its last chunk.
  expect(await stream.closed).toMatch(/\r\n0\r\n\r\n$/);
}

const BEFORE_WORKERS = /await this\.#workers\.start\(/;
const before = (act: string): Change => [BEFORE_WORKERS, `${act}; $&`];

/** Programs and files with which a gateway cannot be upgraded, and the reason that is told. */
const refused: readonly {
  readonly it: string;
  readonly change?: Change;
  readonly http?: string;
  readonly says: RegExp;
  readonly isLong?: true;
}[] = [
  {
    it: 'ends at once',
    change: [/async function runMaster\(source.*\{\n/, '$& process.exit(3);'],
    says: /the new program ended before it served \(code 3\)/,
  },
  {
    it: 'is killed when it has the sockets',
    change: before('process.kill(process.pid, "SIGKILL"); await new Promise(() => {})'),
    says: /the new program ended before it served \(SIGKILL\)/,
  },
  {
    it: 'needs a newer supervisor',
    change: [/PROTOCOL = 1\b/, 'PROTOCOL = 2'],
    says: /needs another supervisor than the one that runs .*: restart needed/,
  },
  {
    it: 'finds a faulty file',
    http: 'nonsense;',
    says: /unknown directive "nonsense" in .*gw\.conf:\d+:\d+/,
  },
  {
    it: 'never serves',
    change: before('await new Promise(() => setInterval(() => {}, 1000))'),
    says: /the new program does not serve within 10 s/,
    isLong: true,
  },
];

test.concurrent(
  'the running program goes on if the new one does not serve',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    const gw = await startSupervised(t, CONF, { program, workers: 2 });
    const lanes = new Lanes({ port: gw.port, fresh: 2, kept: 2 });
    const running = masterPid(gw);
    for (const { change, http, says } of refused.filter(({ isLong }) => !isLong || IS_LONG)) {
      install(...(change ? [change] : []));
      gw.write(http ?? CONF);
      expect(await upgraded(gw)).toMatchObject({ isDone: false, text: expect.stringMatching(says) });
      await gw.waitForLog(new RegExp(`${running}#0: upgrade failed, .*${says.source}`));
      await lanes.responses(10);
      expect(childrenOf(gw.pid)).toEqual([String(running)]);
    }
    // It still takes signals, and the next program. That one does the reload that is asked for meanwhile.
    expect(await gw.reload(CONF)).toBe('done');
    install();
    const from = gw.errorLog().length;
    const done = upgraded(gw);
    await gw.waitForLog(/a new program starts/, from);
    gw.write('server { return 200 reloaded; }');
    gw.signal('SIGHUP');
    expect(await done).toMatchObject({ isDone: true });
    await gw.waitForLog(/reload done/, from);
    await gw.expect('GET /', { status: 200, body: 'reloaded' });
    await lanes.responses(20);
    expect((await lanes.stop()).failures).toEqual([]);
  },
);

const SAYS_LEFT: Change = [
  /\{ type: "left" \}/,
  '{ type: "left", endsWithinMs: Number.MAX_SAFE_INTEGER, shutdownTimeoutMs: Number.MAX_SAFE_INTEGER }',
];

/** Replaced programs that do not end, and why they are killed. The supervisor is one that waits less. */
const staying: readonly {
  readonly it: string;
  readonly changes: readonly Change[];
  readonly says: RegExp;
}[] = [
  {
    it: 'goes on listening',
    changes: [[/message\.type === "replaced"/, 'false']],
    says: /its listening sockets were still open after [\d.]+ s/,
  },
  {
    it: 'goes on listening and says that it does not',
    changes: [
      [/message\.type === "replaced"\) \{/, '$& tellSupervisor({ type: "left" }); return;'],
      SAYS_LEFT,
    ],
    says: /its listening sockets were still open after [\d.]+ s/,
  },
  {
    it: 'goes on after its requests, and says that it may',
    changes: [[/isReplaced: true \}\)\.then\(replaced\)/, 'isReplaced: true })'], SAYS_LEFT],
    says: /it went on after "worker_shutdown_timeout"/,
  },
];

test.concurrent(
  'a replaced program that goes on is killed, and the new one serves',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    install([/\bCLOSE_MS = 1e4\b/, 'CLOSE_MS = 2000'], [/AFTERWARDS_MS = 15e3/, 'AFTERWARDS_MS = 0']);
    const options = { program, main: 'worker_shutdown_timeout 1s;', expectAlerts: true };
    const gw = await startSupervised(t, CONF, options);
    for (const [index, { changes }] of [...staying, { changes: [] }].entries()) {
      const running = masterPid(gw);
      install(...changes);
      expect(await upgraded(gw)).toMatchObject({ isDone: true });
      const says = staying[index - 1]?.says.source;
      if (says !== undefined)
        await gw.waitForLog(new RegExp(`the replaced program \\(process ${running}\\) was killed: ${says}`));
    }
    await t.expect.poll(() => childrenOf(gw.pid)).toEqual([String(masterPid(gw))]);
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

test.concurrent(
  'a new program that dies is started again while the replaced one still listens',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    install([/\bCLOSE_MS = 1e4\b/, 'CLOSE_MS = 1e9'], [/message\.type === "replaced"/, 'false']);
    const gw = await startSupervised(t, CONF, { program, expectAlerts: true });
    const running = masterPid(gw);
    install();
    const done = upgraded(gw);
    await gw.waitForLog(/was upgraded to/);
    const from = gw.errorLog().length;
    process.kill(masterPid(gw), 'SIGKILL');
    await gw.waitForLog(/the master process ended unexpectedly \(SIGKILL\)/, from);
    expect(isAlive(running)).toBe(true);
    process.kill(running, 'SIGKILL');
    expect(await done).toMatchObject({ isDone: true });
    await gw.waitForLog(/start worker processes/, from);
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

/** Sends sockets that nobody has asked for, in all forms that Node.js has, before it says that it serves. */
const sendsSockets = (port: number): Change => [
  /tellSupervisor\(\{ type: "ready", \.\.\.facts \}\);/,
  `void (async () => {
    const net = process.getBuiltinModule('node:net');
    const server = net.createServer().listen(${port}, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const send = (handle) =>
      new Promise((done) => process.send({ type: 'copy', key: 'x' }, handle, undefined, done));
    for (let n = 0; n < 5; n += 1) for (const handle of [server, server._handle]) await send(handle);
    server.close();
    $&
  })();`,
];

test.concurrent(
  'the supervisor keeps no socket that nobody has asked for',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    const port = await freePort();
    install(sendsSockets(port));
    const gw = await startSupervised(t, CONF, { program });
    await t.expect.poll(() => readStatus(join(gw.dir, 'gw.pid'))).toBeDefined();
    await t.expect.poll(() => listensOn(gw.pid, new Set([port]))).toBe(false);
    install();
    expect(await upgraded(gw)).toMatchObject({ isDone: true });
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

/** What a running program may send while its state is carried over. */
const malformed = [
  'process.send({ type: { toString: 1 } })',
  'process.send({ type: "outcome", text: 1 })',
  "process.getBuiltinModule('node:fs').writeSync(3, 'no message\\n')",
];

test.concurrent(
  'a message that cannot be read ends the program that has sent it, and the new one serves',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    const gw = await startSupervised(t, CONF, { program, expectAlerts: true });
    for (const act of [...malformed, undefined]) {
      if (act === undefined) install();
      else install([/tellSupervisor\(\{ type: "carried"/, `(${act}), $&`]);
      expect(await upgraded(gw)).toMatchObject({ isDone: true });
      await gw.expect('GET /', { status: 200, body: 'ok' });
    }
  },
);

test.concurrent(
  'the new program serves if the running one is killed meanwhile, and is started again if it is killed later',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    const gw = await startSupervised(t, CONF, { program, workers: 2, expectAlerts: true });
    install(before(`try { process.kill(${masterPid(gw)}, "SIGKILL") } catch {}`));
    expect(await upgraded(gw)).toMatchObject({ isDone: true });
    await gw.expect('GET /', { status: 200, body: 'ok' });
    install();
    const from = gw.errorLog().length;
    process.kill(masterPid(gw), 'SIGKILL');
    await gw.waitForLog(/start worker processes/, from);
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

test.concurrent(
  'a gateway that root started hands over low ports and Unix sockets of both engines, and stays without rights',
  { timeout: LIMIT_MS, skip: !IS_ROOT },
  async (t) => {
    const { program, install } = installation(t);
    const [low, node] = [await freeLowPort(), await freeLowPort()];
    const conf = (dir: string): string => `server {
      listen 127.0.0.1:${low}; listen 127.0.0.1:${node} engine=node;
      listen unix:${dir}/a.sock; listen unix:${dir}/b.sock engine=node; return 200 ok; }`;
    const gw = await startAsNobody(t, conf, { program, port: low, workers: 2 });
    const lanes = [low, node].map((port) => new Lanes({ port, fresh: 2, kept: 2 }));
    for (let round = 0; round < 2; round += 1) {
      install();
      const running = masterPid(gw);
      expect(await upgraded(gw)).toMatchObject({ isDone: true });
      await gw.waitForLog(new RegExp(`${running}#0: the listening sockets are closed`));
      const isLast = round === 1;
      if (isLast) await gw.waitForLog(new RegExp(`\\] ${running}#0: exit$`, 'm'));
      for (const lane of lanes) await lane.responses(10);
      for (const name of ['a.sock', 'b.sock']) expect(await getOverUnix(join(gw.dir, name))).toBe(200);
      expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
    }
    expect(await gw.reload(conf(gw.dir))).toBe('done');
    for (const lane of lanes) expect((await lane.stop()).failures).toEqual([]);
    await gw.stop();
    expect(readdirSync(gw.dir).filter((name) => /sock|pid/.test(name))).toEqual([]);
  },
);
