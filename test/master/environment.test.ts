import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { masterPid, startSupervised } from './processes.ts';

const owner = wholeFile();
const SECRET = 'open-sesame';
let gw: Gateway;

/** `load` makes another port of each load, of which the workers get copies. */
const confOf = (dir: string, port: number, load: number): string => `
  access_log syslog:server=unix:${dir}/log.sock;
  server {
    listen 127.0.0.1:${port};
    listen unix:${dir}/gw-${load}.sock;
    location / { return 200 "\${env:DOOR}"; }
  }`;

beforeAll(async () => {
  gw = await startSupervised(owner, (dir, port) => confOf(dir, port, 0), {
    main: 'http_engine node;',
    workers: 2,
    env: { DOOR: SECRET },
  });
  const server = createServer((socket) => socket.resume()).listen(`${gw.dir}/log.sock`);
  owner.onTestFinished(async () => void server.close());
});

/** The processes that the threads of a process have started. */
function programsOf(pid: number): readonly string[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((thread) => read(pid, `task/${thread}/children`).match(/\d+/g) ?? []);
}

/** The environment of a child of the master, by a word of its command line; a request or a reload starts it. */
async function environmentOf(word: string): Promise<string> {
  for (let load = 1; ; load += 1) {
    for (const pid of programsOf(masterPid(gw))) {
      const [command, environment] = [read(pid, 'cmdline'), read(pid, 'environ')];
      // Between fork and exec it is a copy of its parent.
      if (command.includes(word)) return environment;
    }
    await gw.expect('GET /', { status: 200, body: SECRET });
    await gw.reload(gw.confOf((dir, port) => confOf(dir, port, load)));
    await sleep(5);
  }
}

function read(pid: string | number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

for (const word of ['socket copies', 'logger']) {
  test(`the process "${word}" has no secrets in its environment`, async () => {
    const environment = await environmentOf(word);
    expect(environment).toContain('PATH=');
    expect(environment).not.toContain(SECRET);
  });
}
