import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HAS_NGINX, startNginx } from '../conformance/nginx.ts';
import { call } from '../harness/http.ts';
import { openGroup, walk } from './group.ts';

/*
 * picks/*.picks: the content of an `upstream` block, a line of dashes, then `key [from ADDRESS] [dead p1,p2] => peers in the
 * order in which they are tried`, or `wait SECONDS`. Recorded from a real nginx (RECORD=1 writes them again), which is asked again.
 */
const directory = new URL('picks/', import.meta.url);
const DASHES = '----------\n';

interface Request {
  readonly key: string;
  readonly from: string;
  readonly dead: readonly string[];
}

type Balancer = (request: Request) => Promise<string>;
type Start = (
  t: Parameters<typeof startNginx>[0],
  block: string,
) => Promise<{ pick: Balancer; wait: (seconds: number) => Promise<void> }>;

const startHere: Start = (_, block) => {
  const opened = openGroup(block);
  return Promise.resolve({
    pick: ({ key, from, dead }) =>
      Promise.resolve(
        walk(
          opened,
          { key, clientAddress: from },
          dead.map((name) => `unix:${name}.sock`),
        ).join(' '),
      ),
    wait: (seconds) => {
      opened.clock.second += seconds;
      return Promise.resolve();
    },
  });
};

const startReal: Start = async (t, block) => {
  const names = [...new Set([...block.matchAll(/unix:(p\d)\.sock/g)].map(([, name]) => name))];
  const peers = names.map(
    (name) =>
      `server { listen unix:${name}.sock; if ($http_x_dead ~ ${name}) { return 444; } return 200 x; }`,
  );
  const port = await startNginx(
    t,
    `upstream u { ${block} } ${peers.join(' ')}
     server {
       set_real_ip_from 127.0.0.1; real_ip_header X-From;
       location / { proxy_pass http://u; add_header X-Picks $upstream_addr always; }
     }`,
  );
  return {
    pick: async ({ key, from, dead }) => {
      const { headers } = await call(port, key, { headers: { 'X-From': from, 'X-Dead': dead.join() } });
      return String(headers.get('x-picks')).replaceAll(',', '');
    },
    wait: (seconds) => sleep(seconds * 1000),
  };
};

const balancers = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: startReal }] : []),
  { name: 'gw', start: startHere },
];

for (const file of readdirSync(directory)) {
  const recorded = readFileSync(new URL(file, directory), 'utf8');
  const [block = '', lines = ''] = recorded.split(DASHES);
  for (const { name, start } of balancers) {
    // Concurrent, because nginx forgives a peer after seconds only.
    test.concurrent(
      `${name} chooses the peers of ${file.replace('.picks', '')} as recorded`,
      { timeout: 30_000 },
      async (t) => {
        const { pick, wait } = await start(t, block);
        let picked = '';
        for (const line of lines.trimEnd().split('\n')) {
          const [request = ''] = line.split(' => ', 1);
          const [, seconds] = /^wait (\d+)$/.exec(request) ?? [];
          if (seconds !== undefined) await wait(Number(seconds));
          picked +=
            seconds === undefined ? `${request} => ${short(await pick(read(request)))}\n` : `${request}\n`;
        }
        if (process.env['RECORD'] && name === 'nginx')
          writeFileSync(new URL(file, directory), block + DASHES + picked);
        else expect(picked).toBe(lines);
      },
    );
  }
}

function read(request: string): Request {
  const [key = '/', ...words] = request.split(' ');
  const after = (word: string): string | undefined => words[words.indexOf(word) + 1];
  return {
    key,
    from: (words.includes('from') ? after('from') : undefined) ?? '127.0.0.1',
    dead: (words.includes('dead') ? after('dead') : undefined)?.split(',') ?? [],
  };
}

function short(picked: string): string {
  return picked.replaceAll(/unix:(p\d)\.sock/g, '$1');
}
