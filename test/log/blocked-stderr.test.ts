import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../harness/ports.ts';

const GW = new URL('../../dist/bin/gw.js', import.meta.url).pathname;
/** A pipe holds 64 KB, and each line has more than 200 bytes. */
const REQUESTS = 700;

interface Service {
  readonly program: ChildProcess;
  /** Begins to read its standard error. */
  readonly read: () => Readable;
}

/** What Node.js calls a pipe is a socket. */
function startOnSocket(args: readonly string[]): Service {
  const program = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  return { program, read: () => program.stderr };
}

/** The reader of the shell's pipe begins with a line from here. */
function startOnPipe(args: readonly string[]): Service {
  const script = '"$@" 2>&1 >/dev/null | { read -r line <&3; exec cat; }';
  const program = spawn('sh', ['-c', script, 'sh', process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const begin = program.stdio[3] as Writable;
  const read = (): Readable => {
    if (!begin.writableEnded) begin.end('\n');
    return program.stdout as Readable;
  };
  return { program, read };
}

/** How the standard error of a service is open: that of systemd is a socket, that of a container or a shell a pipe. */
const kinds = ['socket', 'pipe'] as const;

/** Starts a gateway whose requests for missing files leave lines on standard error. */
async function serve(kind: (typeof kinds)[number], port: number): Promise<Service> {
  const prefix = await mkdtemp(join(tmpdir(), 'gw-stderr-'));
  await chmod(prefix, 0o755);
  onTestFinished(() => rm(prefix, { recursive: true, force: true }));
  await writeFile(
    join(prefix, 'gw.conf'),
    `daemon off; worker_processes 1; pid gw.pid; error_log stderr error; events {}
   http { access_log off; server { listen 127.0.0.1:${port}; root ${prefix};
     location = /metrics { control_api metrics; } } }`,
  );
  const args = [GW, '-p', prefix, '-c', 'gw.conf'];
  const gw = kind === 'socket' ? startOnSocket(args) : startOnPipe(args);
  onTestFinished(async () => {
    process.kill(Number(await readFile(join(prefix, 'gw.pid'), 'utf8')), 'SIGTERM');
    const read = gw.read();
    if (gw.program.exitCode === null) await once(gw.program, 'exit');
    read.destroy();
  });
  return gw;
}

test.each(kinds)(
  'a %s as standard error that nobody reads delays no response, and the lines that it loses are counted',
  async (kind) => {
    const port = await freePort();
    const gw = await serve(kind, port);
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    await vi.waitFor(async () => expect((await get('/metrics')).status).toBe(200), 15_000);
    for (let n = 0; n < REQUESTS; n++)
      expect((await get(`/missing-${'x'.repeat(100)}-${n}`)).status).toBe(404);
    const metrics = await (await get('/metrics')).text();
    const [, lost] = /^gw_log_dropped_total\{log="stderr"\} (\d+)$/m.exec(metrics) ?? [];
    expect(Number(lost)).toBeGreaterThan(0);

    let text = '';
    gw.read().on('data', (piece: Buffer) => (text += piece.toString()));
    const toldIn = (): number =>
      Number(/\[error\] .*: (\d+) lines of this log were lost/.exec(text)?.[1] ?? 0);
    await vi.waitFor(async () => {
      await get('/missing');
      expect(toldIn() >= Number(lost)).toBe(true);
    }, 10_000);
  },
);
