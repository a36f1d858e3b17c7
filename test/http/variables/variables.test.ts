import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { redis } from '../../harness/redis.ts';
import { findForms } from './forms.ts';
import { locationOf, MAPS, VARIABLES } from './site.ts';
import { perTier } from '../../harness/tier.ts';

const LANES = 16;

const FORMS = findForms();

/** The search finds more; these show that it still works. */
const KNOWN = `access_log add_header add_trailer alias auth_basic auth_basic_user_file auth_request_set charset disable_symlinks
  error_log_tag error_page expires feature_flag geo hash if index kv_key kv_pass limit_conn_zone limit_rate limit_rate_after limit_req_zone log_format
  map more_set_headers echo proxy_bind proxy_cookie_domain proxy_cookie_flags proxy_cookie_path proxy_limit_rate proxy_method proxy_pass proxy_redirect
  proxy_set_body proxy_set_header proxy_ssl_name return rewrite root secure_link secure_link_md5 server_tokens set source_charset
  split_clients sub_filter try_files worker_events_publish_key`;

test('the directives that take variables are found through their rows', () => {
  const found = new Set(FORMS.map(({ directive }) => directive));
  expect(KNOWN.split(/\s+/).filter((directive) => !found.has(directive))).toEqual([]);
});

test('no variable in no directive ends a worker, alone or in a circle', { timeout: 300_000 }, async (t) => {
  const [port, nodePort, { port: redisPort }] = [await freePort(), await freePort(), await redis()];
  const locations = FORMS.map((form, nth) => locationOf(form, nth, { port, redisPort }));
  const gw = await startGateway(
    t,
    `${MAPS}
    shared_dict_zone zone=feature_flags:1m; proxy_connect_timeout 1s; kv_connect_timeout 1s;
    ${locations.map(({ http }) => http).join('\n')}
    server {
      listen 127.0.0.1:${port}; listen 127.0.0.1:${nodePort} engine=node; set $memcached_key x;
      location /ok { default_type text/html; return 200 "x and x"; }
      location /empty { return 204; }
      ${locations.map(({ location }, nth) => `location /${nth}/ { ${location} }`).join('\n')}
    }`,
    // The log must not have the ends of earlier workers.
    { port, fresh: true, files: { users: 'x:{PLAIN}x', 'logs/x': '' } },
  );
  const paths = FORMS.flatMap((_, nth) => someOf(VARIABLES, nth).map((name) => `/${nth}/x?v=${name}&x=1`));
  const ports = [port, nodePort];
  await ask(
    paths.flatMap((path, nth) =>
      engines(ports, nth + Math.floor(nth / VARIABLES.length)).map((each) => ({ port: each, path })),
    ),
  );
  expect(gw.errorLog()).not.toMatch(/worker process \d+ (?:crashed|exited)/);
  await gw.expect('GET /ok', { status: 200 });
});

/** All variables, or a third of them by turns. */
function someOf(names: readonly string[], nth: number): readonly string[] {
  return perTier({ short: names.filter((_, at) => (at + nth) % 3 === 0), long: names });
}

/** Both engines, or one of them by turns. */
function engines(ports: readonly number[], nth: number): readonly number[] {
  return perTier({ short: ports.slice(nth % 2, (nth % 2) + 1), long: ports });
}

interface Asked {
  readonly port: number;
  readonly path: string;
}

/** Sends every request; a closed connection counts as a response, too. */
async function ask(all: readonly Asked[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: LANES });
  const rest = all[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const each of rest) await ended(each, agent);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  agent.destroy();
}

function ended({ port, path }: Asked, agent: Agent): Promise<void> {
  const headers = { host: 'localhost:1', x: '1', cookie: 'x=1', authorization: 'Basic eDp4', te: 'trailers' };
  return new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path, agent, headers });
    asked.on('response', (response) => response.resume().on('close', resolve).on('error', resolve));
    asked.on('error', () => resolve());
    asked.end();
  });
}

/** A value that cannot be evaluated, in each phase of a request: the response, and the single line of the error log. */
const failing = [
  { conf: 'return 200 $huge;', status: 500, says: /unexpected failure: RangeError/ },
  { conf: 'add_header x $huge; return 200 a;', status: 500, says: /unexpected failure: RangeError/ },
  { conf: 'add_header x $huge always; return 404 a;', status: 500, says: /unexpected failure: RangeError/ },
  {
    conf: 'add_header x $huge; kv_pass 127.0.0.1:REDIS;',
    status: 500,
    says: /unexpected failure: RangeError/,
  },
  {
    conf: 'add_header x $huge; proxy_pass http://127.0.0.1:PORT/ok;',
    status: 500,
    says: /unexpected failure/,
  },
  { conf: 'add_header x $huge; try_files /users =404;', status: 500, says: /unexpected failure: RangeError/ },
  {
    conf: 'sub_filter a $huge; proxy_pass http://127.0.0.1:PORT/ok;',
    status: 500,
    says: /unexpected failure/,
  },
  {
    conf: 'sub_filter $huge a; proxy_pass http://127.0.0.1:PORT/ok;',
    status: 500,
    says: /unexpected failure/,
  },
  {
    conf: 'access_log logs/x own if=$huge; return 200 a;',
    status: 200,
    says: /access log failed: RangeError/,
  },
  { conf: 'access_log logs/x own; return 200 a;', status: 200, says: /access log failed: RangeError/ },
] as const;

for (const engine of ['uws', 'node'])
  test(`a value that cannot be evaluated ends its request alone, with one line (${engine})`, async (t) => {
    const port = await freePort();
    const { port: redisPort } = await redis();
    const confOf = (conf: string): string =>
      conf.replace('PORT', String(port)).replace('REDIS', String(redisPort));
    const gw = await startGateway(
      t,
      `${MAPS} log_format own $huge; sub_filter_types *; root .;
      server {
        listen 127.0.0.1:${port} engine=${engine};
        location /ok { return 200 "a b"; }
        ${failing.map(({ conf }, nth) => `location /${nth}/ { ${confOf(conf)} }`).join('\n')}
      }`,
      { port, files: { users: 'a', 'logs/x': '' } },
    );
    for (const [nth, expected] of failing.entries()) {
      const from = gw.errorLog().length;
      const status = await gw.fetch(`/${nth}/`).then(
        (response) => response.status,
        () => undefined,
      );
      await gw.waitForLog(expected.says, from);
      expect({ nth, status }).toEqual({ nth, status: 'status' in expected ? expected.status : undefined });
      expect(
        gw
          .errorLog()
          .slice(from)
          .match(/RangeError: Invalid/g),
        expected.conf,
      ).toHaveLength(1);
    }
  });

test('a trailer whose value reads trailers sees those before it', async (t) => {
  const port = await freePort();
  const gw = await startGateway(
    t,
    `server {
      listen 127.0.0.1:${port} engine=node;
      add_trailer a 1; add_trailer b "b$sent_trailer_a$sent_trailer_b$sent_trailer_c"; add_trailer c $sent_trailer_c;
      return 200 text;
    }`,
    { port },
  );
  const response = await gw.raw('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(response).toMatch(/\r\n0\r\na: 1\r\nb: b1\r\n\r\n$/);
});
