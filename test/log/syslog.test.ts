import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openErrorLogs, openSyslog, parseSyslog, type SyslogTarget } from '../../src/log/index.ts';

interface Owner {
  onTestFinished(stop: () => Promise<void>): void;
}

/** A syslog server on UDP, and the messages that it got. */
async function udpServer(t: Owner): Promise<{ port: number; packets: string[] }> {
  const socket = createSocket('udp4');
  const packets: string[] = [];
  socket.on('message', (packet) => packets.push(packet.toString()));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => void socket.close());
  return { port: socket.address().port, packets };
}

/** A syslog server on a Unix stream socket, because Node.js cannot listen on a datagram one; `logger` takes both. */
async function unixServer(t: Owner): Promise<{ path: string; text: () => string }> {
  const directory = mkdtempSync(join(tmpdir(), 'gw-syslog-'));
  const path = join(directory, 'log');
  let text = '';
  const server = createServer((socket) => socket.on('data', (data) => (text += data.toString())));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.onTestFinished(async () => {
    server.close();
    rmSync(directory, { recursive: true });
  });
  return { path, text: () => text };
}

function target(words: string): SyslogTarget {
  const read = parseSyslog(`syslog:${words}`);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

function open(t: Owner, words: string, troubles: string[] = []) {
  const syslog = openSyslog(target(words), { tell: (trouble) => troubles.push(trouble) });
  t.onTestFinished(() => syslog.close());
  return syslog;
}

const TIME = /[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d/.source;
const HOST = hostname().toLowerCase();

const cases = [
  { it: 'by default as local7.info from gw', words: '', head: `<190>${TIME} ${HOST} gw: ` },
  {
    it: 'as a facility and severity',
    words: ',facility=user,severity=warn',
    head: `<12>${TIME} ${HOST} gw: `,
  },
  { it: 'with a tag of its own', words: ',tag=site_1', head: `<190>${TIME} ${HOST} site_1: ` },
  { it: 'without the name of the host', words: ',nohostname', head: `<190>${TIME} gw: ` },
];

for (const { it, words, head } of cases) {
  test(`a line goes over UDP ${it}`, async (t) => {
    const { port, packets } = await udpServer(t);
    open(t, `server=127.0.0.1:${port}${words}`).write('hello wörld');
    await expect.poll(() => packets).toEqual([expect.stringMatching(`^${head}hello wörld$`)]);
  });
}

test('the name of a server is looked up, and lines that come earlier are sent afterwards', async (t) => {
  const { port, packets } = await udpServer(t);
  const syslog = open(t, `server=localhost:${port},nohostname`);
  for (const line of ['one', 'two']) syslog.write(line);
  await expect.poll(() => packets.map((packet) => packet.slice(-3))).toEqual(['one', 'two']);
});

test('a server that cannot be found is reported once', async (t) => {
  const troubles: string[] = [];
  const syslog = open(t, 'server=no-such-host.invalid', troubles);
  for (const line of ['one', 'two']) syslog.write(line);
  await expect.poll(() => troubles).toEqual(['host not found in syslog server "no-such-host.invalid"']);
});

test('a server that refuses datagrams is reported once', async () => {
  const closed = createSocket('udp4');
  await new Promise<void>((resolve) => closed.bind(0, '127.0.0.1', resolve));
  const { port } = closed.address();
  await new Promise<void>((resolve) => void closed.close(resolve));
  const troubles: string[] = [];
  const syslog = openSyslog(target(`server=127.0.0.1:${port}`), {
    tell: (trouble) => troubles.push(trouble),
  });
  for (let sent = 0; sent < 10; sent += 1) syslog.write('x');
  await expect.poll(() => troubles.length).toBeGreaterThan(0);
  await syslog.close();
  const refused = `send() failed (111: Connection refused) while logging to syslog, server: 127.0.0.1:${port}`;
  expect(troubles).toEqual([refused]);
});

test('a message that is too long for a packet is cut', async (t) => {
  const { port, packets } = await udpServer(t);
  open(t, `server=127.0.0.1:${port}`).write('x'.repeat(5_000));
  await expect.poll(() => packets.map(({ length }) => length)).toEqual([4352]);
});

test('the error log goes to a syslog server with the severity of its lines', async (t) => {
  const { port, packets } = await udpServer(t);
  const logs = openErrorLogs([{ syslog: target(`server=127.0.0.1:${port},nohostname`), level: 'warn' }], {
    prefix: '/',
    tid: 3,
  });
  logs.write('info', 'not taken');
  logs.write('warn', 'first');
  logs.write('crit', 'second', { connection: 7, client: '10.0.0.1' });
  const line = (severity: number, text: string): unknown =>
    expect.stringMatching(
      `^<${23 * 8 + severity}>${TIME} gw: \\d{4}/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d ${text}$`,
    );
  const author = `${process.pid}#3: `;
  await expect
    .poll(() => packets)
    .toEqual([
      line(4, `\\[warn\\] ${author}first`),
      line(2, `\\[crit\\] ${author}\\*7 second, client: 10.0.0.1`),
    ]);
  logs.close();
});

const HAS_LOGGER = spawnSync('logger', ['--version']).error === undefined;

test.skipIf(!HAS_LOGGER)('a line goes to a Unix socket through logger (of util-linux)', async (t) => {
  const { path, text } = await unixServer(t);
  const syslog = open(t, `server=unix:${path},facility=user,severity=warn,tag=site`);
  syslog.write('one\ntwo');
  syslog.write('three', 2);
  await expect
    .poll(text)
    .toMatch(new RegExp(`^<12>${TIME} \\S+ site: one two.<10>${TIME} \\S+ site: three.$`, 's'));
});

test.skipIf(!HAS_LOGGER)('a missing Unix socket is reported (by logger of util-linux)', async (t) => {
  const troubles: string[] = [];
  open(t, 'server=unix:/nowhere/log', troubles).write('one');
  await expect.poll(() => troubles).toEqual([expect.stringContaining('/nowhere/log')]);
});

test('messages beyond those that wait for the name of the server are lost, and counted', async (t) => {
  let lost = 0;
  const syslog = openSyslog(target('server=127.0.0.1:9'), { tell: () => undefined, dropped: () => lost++ });
  t.onTestFinished(() => syslog.close());
  for (let n = 0; n < 1_200; n++) syslog.write(`message ${n}`);
  expect(lost).toBe(200);
});
