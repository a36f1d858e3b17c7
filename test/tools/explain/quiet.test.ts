import { createHook } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { addressText, type GatewayPlan, type LocationPlan } from '../../../src/plan/index.ts';
import { load } from '../../../src/pipeline.ts';
import { accountOf, configured } from './explained.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The names that node gives to sockets, look-ups, threads and processes when they are created. */
const LOUD = /TCP|PIPE|UDP|SOCKET|HTTP|TLS|GETADDRINFO|GETNAMEINFO|QUERYWRAP|DNS|WORKER|PROCESSWRAP|FSEVENT/i;

/** The kinds of resources that were created meanwhile. */
async function resourcesOf(run: () => Promise<void>): Promise<readonly string[]> {
  const made: string[] = [];
  const hook = createHook({ init: (_id, type) => void made.push(type) }).enable();
  try {
    await run();
  } finally {
    hook.disable();
  }
  return made.filter((type) => LOUD.test(type));
}

/** One URL for each location that a path leads to, on every port of its server. */
function urlsOf({ ports, servers }: GatewayPlan): readonly (readonly [url: string, host: string])[] {
  const paths = (locations: readonly LocationPlan[]): readonly string[] =>
    locations.flatMap(({ match, locations: inner }) => [
      ...(match?.kind === 'prefix' || match?.kind === 'exact' ? [match.path, `${match.path}x`] : []),
      ...paths(inner),
    ]);
  return ports.flatMap(({ address, servers: indices, ssl }) =>
    indices.flatMap((index) => {
      const server = servers[index]!;
      const at =
        address.kind === 'unix'
          ? `unix:${address.path}:`
          : addressText(address).replace('0.0.0.0', '127.0.0.1');
      const name = server.names.find(({ kind }) => kind === 'exact');
      const host = name?.kind === 'exact' && name.name !== '' ? name.name : 'localhost';
      return ['/', ...paths(server.root.locations)].map(
        (path) => [`http${ssl ? 's' : ''}://${at}${path}`, host] as const,
      );
    }),
  );
}

const examples = ['conf/', 'conf/examples/', 'test/conf/everyday/'].flatMap((folder) =>
  readdirSync(`${ROOT}${folder}`)
    // What other configurations include is none of its own.
    .filter((name) => name.endsWith('.conf') && name !== 'fastcgi.conf')
    .map((name) => folder + name),
);

for (const name of examples) {
  test(`explain describes every location of ${name} and opens nothing`, async () => {
    const loaded = load({ confFile: ROOT + name, name, prefix: ROOT });
    // Certificates and the like exist only during the test of the example itself.
    if (!loaded.plan)
      return expect(loaded.report.faults.map(({ message }) => message).join()).toMatch(
        /cannot load|failed \(|no such/i,
      );
    const urls = urlsOf(loaded.plan);
    const untold: string[] = [];
    const made = await resourcesOf(async () => {
      for (const [url, host] of urls) {
        const { found, location, answer } = await accountOf(
          { dir: ROOT, loaded },
          { url, headers: [['Host', host]] },
        );
        if (!found || !location || answer.does === 'does not come to an end') untold.push(url);
      }
    });
    expect(untold).toEqual([]);
    expect(made).toEqual([]);
    expect(urls.length).toBeGreaterThan(0);
  });
}

test('explain contacts no name server, no store, no database and no upstream', async (t) => {
  const explained = configured(
    t,
    `events {} http {
      resolver 127.0.0.1;
      set_real_ip_from proxy.example; real_ip_header X-Real-IP;
      upstream named { server app.example:80; keepalive 4; }
      upstream found { zone z 64k; server app.example resolve; }
      server {
        listen 8080;
        access_log access.log; error_log error.log debug;
        location /a { proxy_pass http://named; }
        location /b { proxy_pass http://found; }
        location /c { set $to other.example:99; proxy_pass http://$to; }
        location /d { proxy_pass https://127.0.0.1:1/; }
        location /e { kv_pass 127.0.0.1:1; kv_command get; }
        location /f { kv_pass embedded; kv_command get; }
        location /g/ { dbrest_pass "postgres://u@127.0.0.1:1/d"; dbrest_anon_role a; }
        location /h/ { dbrest_pass embedded; dbrest_anon_role a; }
        location /i { auth_request /a; mirror /b; proxy_pass http://named; }
      }
    }`,
  );
  const before = readdirSync(explained.dir);
  const made = await resourcesOf(async () => {
    for (const letter of 'abcdefghi') await accountOf(explained, { url: `/${letter}/x` });
  });
  expect(made).toEqual([]);
  expect(readdirSync(explained.dir)).toEqual(before);
});
