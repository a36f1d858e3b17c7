import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith } from '../cli/command.ts';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { IS_ROOT } from './rights.ts';

/*
 * Containers log to their standard streams: the image of nginx has `access.log -> /dev/stdout` and `error.log -> /dev/stderr`. nginx
 * does not start where such a stream is a socket, as under systemd, or where an account may not open its own anew.
 */
const PROGRAM = `'${process.execPath}' '${GW}' -c gw.conf`;
const HAS_SCRIPT = spawnSync('script', ['--version']).error === undefined;

/** `command` leaves what is written in the file `out`, or to its own standard streams. */
const kinds = [
  { it: 'pipes', command: `${PROGRAM} 2>&1 | cat > out` },
  { it: 'files', command: `exec ${PROGRAM} > out 2>&1` },
  { it: 'sockets', command: `exec ${PROGRAM}` },
  { it: 'terminals', command: `exec script -qefc "${PROGRAM}" out`, isRunnable: HAS_SCRIPT },
  {
    it: 'those of the first process',
    command: `unshare -pf --mount-proc ${PROGRAM} 2>&1 | cat > out`,
    paths: ['/proc/1/fd/1', '/proc/1/fd/2'],
    isRunnable: IS_ROOT,
  },
];
const PATHS = ['log/access.log', '/dev/stdout', '/dev/stderr', '/proc/self/fd/1', '/dev/fd/2', 'stderr'];

const accounts = [
  { as: 'the account that starts it', user: '' },
  { as: 'nobody', user: 'user nobody;', isRunnable: IS_ROOT },
];

interface Running {
  readonly port: number;
  output(): string;
  signal(signal: NodeJS.Signals): void;
}

async function start(t: Owner, command: string, main: string): Promise<Running> {
  const port = await freePort();
  const dir = directoryWith(t, {});
  mkdirSync(join(dir, 'log'));
  symlinkSync('/dev/stdout', join(dir, 'log/access.log'));
  symlinkSync('/dev/stderr', join(dir, 'log/error.log'));
  writeFileSync(
    join(dir, 'gw.conf'),
    `pid gw.pid; ${main} server { listen 127.0.0.1:${port}; root /nonexistent; } }`,
  );
  // In a group of its own, which ends as a whole where the gateway never came so far as to say which process it is.
  const shell = spawn('sh', ['-c', command], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let written = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (text) => (written += String(text)));
  const ended = once(shell, 'close');
  const file = (name: string): string =>
    existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8') : '';
  const running: Running = {
    port,
    output: () => written + file('out'),
    signal: (signal) => void process.kill(pidOf(shell.pid ?? 0, file('gw.pid')), signal),
  };
  t.onTestFailed?.(() => console.error(running.output()));
  t.onTestFinished(async () => {
    if (shell.exitCode === null) {
      if (file('gw.pid') === '') process.kill(-(shell.pid as number), 'SIGTERM');
      else running.signal('SIGTERM');
    }
    await ended;
  });
  await expect.poll(() => file('gw.pid')).toMatch(/^\d+\n$/);
  return running;
}

/** The first process of another namespace has another number here. */
function pidOf(shell: number, written: string): number {
  if (written.trim() !== '1') return Number(written);
  const childrenOf = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const outer = childrenOf(shell).find((pid) =>
    readFileSync(`/proc/${pid}/comm`, 'utf8').includes('unshare'),
  );
  return childrenOf(outer ?? 0)[0] ?? 0;
}

for (const { it, command, paths = PATHS, isRunnable = true } of kinds)
  for (const { as, user, isRunnable: isPossible = true } of accounts)
    test.runIf(isRunnable && isPossible)(
      `logs go to standard streams that are ${it}, after USR1 and a reload too, as ${as}`,
      async (t) => {
        const errorLog = paths === PATHS ? 'log/error.log' : '/proc/1/fd/2';
        const formats = paths.map((path, index) => `log_format f${index} "to ${path} $uri";`).join(' ');
        const logs = paths.map((path, index) => `access_log ${path} f${index};`).join(' ');
        const main = `${user || (IS_ROOT ? 'user root;' : '')} error_log ${errorLog} notice; check { log off; } worker_processes 1; events { }`;
        const gw = await start(t, command, `${main} http { ${formats} ${logs}`);
        for (const [word, signal] of [['start'], ['reopen', 'SIGUSR1'], ['reload', 'SIGHUP']] as const) {
          if (signal) gw.signal(signal);
          const done = { start: /start worker/, reopen: /reopened its logs/, reload: /reload done/ }[word];
          await expect.poll(gw.output).toMatch(done);
          await call(gw.port, `/${word}`);
          const lines = [
            ...paths.map((path) => `to ${path} /${word}`),
            `open() "/nonexistent/${word}" failed`,
          ];
          for (const line of lines) await expect.poll(gw.output).toContain(line);
        }
        expect(gw.output()).not.toMatch(/\[(?:alert|emerg|crit)\]/);
      },
    );
