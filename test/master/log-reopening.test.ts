import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startSupervised } from './processes.ts';
import { IS_ROOT } from './rights.ts';

const LOGS = ['main', 'http', 'server', 'access'];

const accounts = [
  { it: 'nobody, started by root', user: 'user nobody;', isRunnable: IS_ROOT },
  { it: 'the account that started it', user: '', isRunnable: true },
];

const http = (dir: string, port: number): string => `
  root /nonexistent; error_log ${dir}/http.log; access_log ${dir}/access.log;
  server { listen 127.0.0.1:${port}; server_name a; error_log ${dir}/server.log; }
  server { listen 127.0.0.1:${port}; server_name b; }`;

const lines: Readonly<Record<string, RegExp>> = {
  main: /worker 1 reopened its logs[^]*worker 1 reopened its logs/,
  http: /open\(\) "\/nonexistent\/later"/,
  server: /open\(\) "\/nonexistent\/later"/,
  access: /"GET \/later [^]*"GET \/later /,
};

/** As nginx, which writes it to the main log in every process, each time. */
for (const { it, user, isRunnable } of accounts) {
  test.runIf(isRunnable)(
    `logs that cannot be opened again are told each time, and go on in their old files (${it})`,
    async (t) => {
      const gw = await startSupervised(t, http, {
        main: `${user} error_log main.log notice;`,
        expectAlerts: true,
      });
      for (const log of LOGS) {
        renameSync(join(gw.dir, `${log}.log`), join(gw.dir, `${log}.log.1`));
        mkdirSync(join(gw.dir, `${log}.log`));
      }
      for (const times of [1, 2]) {
        gw.signal('SIGUSR1');
        for (const log of LOGS) {
          const told = `#1: open() "${gw.dir}/${log}.log" failed (21: Is a directory)`;
          await expect.poll(() => timesIn(gw.read('main.log.1'), told), { timeout: 5_000 }).toBe(times);
        }
      }
      for (const host of ['a', 'b']) await gw.expect('GET /later', { status: 404 }, { headers: { host } });
      for (const log of LOGS) await expect.poll(() => gw.read(`${log}.log.1`)).toMatch(lines[log] ?? /^$/);
    },
  );
}

function timesIn(text: string, line: string): number {
  return text.split('\n').filter((each) => each.includes('[emerg]') && each.endsWith(line)).length;
}
