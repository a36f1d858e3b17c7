import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openAccessLog, openErrorLogs, openNamedLogs, openSyslog, parseSyslog } from '../../src/log/index.ts';
import type { Owner } from '../harness/owner.ts';
import { findProgram } from '../harness/programs.ts';
import { smallDisk } from '../harness/small-disk.ts';

const LINE = 'x'.repeat(3_999);
const LINES = 100;

interface Log {
  write(): void;
  close(): void | Promise<void>;
}

interface Loss {
  readonly it: string;
  /** `undefined`: this account cannot do that. `lost` is called with numbers of lines. */
  readonly settles?: boolean;
  readonly open: (
    t: Owner,
    lost: (lines: number) => void,
  ) => Promise<Opened | undefined> | Opened | undefined;
}

interface Opened {
  readonly log: Log;
  /** Whole lines that have arrived; called before and after the end. */
  readonly arrived: () => number;
}

const silent = { write: () => undefined };

function linesIn(bytes: Buffer): number {
  return bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.endsWith(LINE)).length;
}

/** A pipe whose reader reads only when it is asked what has arrived. */
function stoppedPipe(t: Owner): { path: string; arrived: () => number } {
  const dir = mkdtempSync(join(tmpdir(), 'gw-pipe-'));
  const path = join(dir, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  t.onTestFinished(async () => {
    closeSync(reader);
    rmSync(dir, { recursive: true });
  });
  const pieces: Buffer[] = [];
  const arrived = (): number => {
    const piece = Buffer.alloc(65_536);
    try {
      for (let bytes; (bytes = readSync(reader, piece)) > 0;)
        pieces.push(Buffer.from(piece.subarray(0, bytes)));
    } catch {
      // It is empty.
    }
    return linesIn(Buffer.concat(pieces));
  };
  return { path, arrived };
}

function accessLog(path: string, lost: (lines: number) => void, more = {}): Log {
  const log = openAccessLog({ path, bufferBytes: 0, flushMs: 0, log: silent, dropped: lost, ...more });
  return { write: () => log.write(LINE), close: () => log.close() };
}

/** A log on a disk that has room for some of the lines. */
function onFullDisk(
  t: Owner,
  open: (path: string) => Log,
  read: (bytes: Buffer) => number = linesIn,
): Opened | undefined {
  const disk = smallDisk(t, '64k');
  if (disk === undefined) return undefined;
  const path = join(disk, 'log');
  return { log: open(path), arrived: () => read(readFileSync(path)) };
}

function syslog(words: string, lost: (lines: number) => void): Log {
  const target = parseSyslog(`syslog:${words}`);
  if (typeof target === 'string') throw new Error(target);
  const log = openSyslog(target, { tell: () => undefined, dropped: () => lost(1) });
  return { write: () => log.write(LINE), close: () => log.close() };
}

async function closedPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}

const losses: readonly Loss[] = [
  {
    it: 'an access log on a full disk',
    open: (t, lost) => onFullDisk(t, (path) => accessLog(path, lost)),
  },
  {
    it: 'an access log with a buffer on a full disk',
    open: (t, lost) => onFullDisk(t, (path) => accessLog(path, lost, { bufferBytes: 32_768 })),
  },
  {
    it: 'a compressed access log on a full disk',
    open(t, lost) {
      // What is compressed takes less room than a line, so another file fills the disk.
      const opened = onFullDisk(
        t,
        (path) => {
          execFileSync('sh', ['-c', `dd if=/dev/zero of=${path}.filler bs=4k 2>&- || :`]);
          return accessLog(path, lost, { bufferBytes: 8_192, gzipLevel: 1 });
        },
        (bytes) => (bytes.length === 0 ? 0 : linesIn(gunzipSync(bytes))),
      );
      return opened;
    },
  },
  {
    it: 'an access log whose pipe nobody reads',
    open(t, lost) {
      const { path, arrived } = stoppedPipe(t);
      return { log: accessLog(path, lost), arrived };
    },
  },
  {
    it: 'an access log with variables on a full disk',
    open: (t, lost) =>
      onFullDisk(t, (path) => {
        const rules = { max: 0, inactiveMs: 1_000, minUses: 1, validMs: 1_000 };
        const log = openNamedLogs(rules, () => undefined);
        const one = { path, line: LINE, root: '/', tell: () => undefined, dropped: lost };
        return { write: () => log.write(one), close: () => log.close() };
      }),
  },
  {
    it: 'an error log on a full disk',
    open: (t, lost) =>
      onFullDisk(
        t,
        (path) => {
          const log = openErrorLogs([{ path, level: 'info' }], {
            prefix: '/',
            tid: 1,
            dropped: (_, lines) => lost(lines),
          });
          let nth = 0;
          // Equal lines would be told as one.
          return { write: () => log.write('error', `${nth++} ${LINE}`), close: () => log.close() };
        },
        (bytes) => bytes.toString().split('\n').length - 1,
      ),
  },
  {
    it: 'a syslog server that refuses datagrams',
    settles: true,
    open: async (_, lost) => ({
      log: syslog(`server=127.0.0.1:${await closedPort()}`, lost),
      arrived: () => 0,
    }),
  },
  {
    it: 'a syslog server whose name is not found',
    open: (_, lost) => ({ log: syslog('server=no-such-host.invalid', lost), arrived: () => 0 }),
  },
  {
    it: 'a Unix socket of syslog that is missing',
    settles: true,
    open: (_, lost) =>
      findProgram('logger') === undefined
        ? undefined
        : { log: syslog('server=unix:/none/log', lost), arrived: () => 0 },
  },
];

for (const { it, open, settles } of losses)
  test(`${it}: each line arrives or counts as lost`, async (t) => {
    let lost = 0;
    const opened = await open(t, (lines) => void (lost += lines));
    if (opened === undefined) return t.skip('this account cannot make that happen');
    const { log, arrived } = opened;
    for (let line = 0; line < LINES; line++) {
      log.write();
      // Some in the same turn of the event loop, some later.
      if (line % 10 === 0) await sleep(1);
    }
    // Datagrams are refused, and programs end, a moment after they were given a line.
    if (settles) await expect.poll(() => lost).toBe(LINES);
    await log.close();
    await expect.poll(() => arrived() + lost).toBe(LINES);
    expect(lost).toBeGreaterThan(0);
  });
