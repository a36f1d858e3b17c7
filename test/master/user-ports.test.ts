import { once } from 'node:events';
import { chownSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call } from '../harness/http.ts';
import { freeLowPort } from '../harness/ports.ts';
import { masterPid } from './processes.ts';
import { getOverUnix, IS_ROOT, listenersOf, NOBODY, rightsOf, startAsNobody } from './rights.ts';
import { sabotage, SABOTAGED } from './saboteur.ts';
import { perTier } from '../harness/tier.ts';

for (const engine of ['auto', 'node'] as const) {
  const main = `user nobody; http_engine ${engine};`;

  test.runIf(IS_ROOT)(
    `a gateway that root starts listens on low ports, also in workers that were replaced (${engine})`,
    async (t) => {
      const port = await freeLowPort();
      const gw = await startAsNobody(t, `server { listen 127.0.0.1:${port}; return 200 ok; }`, {
        ...SABOTAGED,
        main,
        port,
        workers: 2,
        expectAlerts: true,
      });
      // A worker is sabotaged by a file, which this worker renames.
      chownSync(gw.dir, NOBODY.uid, 0);
      for (const act of perTier({ short: ['throw', 'throw'], long: ['throw', 'throw', 'hang'] } as const)) {
        const from = gw.errorLog().length;
        sabotage(gw, act);
        await gw.waitForLog(/was started again/, from);
        for (let i = 0; i < 8; i++) await gw.expect('GET /', { status: 200, body: 'ok' });
      }
      expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
    },
  );

  test.runIf(IS_ROOT)(
    `a gateway that root starts listens on low ports and Unix sockets that a reload adds, and closes those that it removes (${engine})`,
    async (t) => {
      const [old, added] = [await freeLowPort(), await freeLowPort()];
      const listening = (ports: string): string => `server { ${ports} return 200 $server_port; }`;
      const conf = (dir: string): string => listening(`listen 127.0.0.1:${old}; listen unix:${dir}/a.sock;`);
      const gw = await startAsNobody(t, conf, { main, workers: 2 });
      expect(await gw.reload(listening(`listen 127.0.0.1:${added}; listen unix:${gw.dir}/b.sock;`))).toBe(
        'done',
      );
      for (let i = 0; i < 8; i++) expect((await call(added, '/')).body).toBe(String(added));
      await expect(call(old, '/')).rejects.toThrow('ECONNREFUSED');
      expect(await getOverUnix(join(gw.dir, 'b.sock'))).toBe(200);
      expect(readdirSync(gw.dir)).not.toContain('a.sock');
      expect(statSync(join(gw.dir, 'b.sock')).mode & 0o777).toBe(0o666);
      expect(await gw.reload(listening(`listen 127.0.0.1:${gw.port};`))).toBe('done');
      await gw.expect('GET /', { status: 200 });
      await expect(call(added, '/')).rejects.toThrow('ECONNREFUSED');
    },
  );

  test.runIf(IS_ROOT)(
    `a gateway that root starts refuses a reload whose low port is taken, and keeps serving (${engine})`,
    async (t) => {
      const [mine, free, taken] = [await freeLowPort(), await freeLowPort(), await freeLowPort()];
      const gw = await startAsNobody(t, `server { listen 127.0.0.1:${mine}; return 200 ok; }`, {
        main,
        port: mine,
      });
      const other = createServer().listen(taken, '127.0.0.1');
      await once(other, 'listening');
      const added = `listen 127.0.0.1:${free}; listen unix:${gw.dir}/a.sock; listen 127.0.0.1:${taken};`;
      expect(await gw.reload(`server { listen 127.0.0.1:${mine}; ${added} return 200 new; }`)).toBe(
        'refused',
      );
      expect(gw.errorLog()).toContain(`bind() to 127.0.0.1:${taken} failed (98: Address already in use)`);
      await gw.expect('GET /', { status: 200, body: 'ok' });
      // No thread would accept connections there.
      await expect.poll(() => call(free, '/').then(() => 'answered', String)).toContain('ECONNREFUSED');
      expect(readdirSync(gw.dir)).not.toContain('a.sock');
      other.close();
    },
  );
}

test.runIf(IS_ROOT)(
  'a gateway that root starts accepts on all workers after a reload as before, on the node engine too',
  async (t) => {
    const port = await freeLowPort();
    const conf = (body: string): string => `server { listen 127.0.0.1:${port}; return 200 ${body}; }`;
    const gw = await startAsNobody(t, conf('old'), {
      main: 'user nobody; http_engine node;',
      port,
      workers: 2,
    });
    expect(listenersOf(masterPid(gw), port)).toBe(2);
    for (const body of ['new', 'newer']) {
      expect(await gw.reload(conf(body))).toBe('done');
      expect(listenersOf(masterPid(gw), port)).toBe(2);
      await gw.expect('GET /', { status: 200, body });
    }
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts refuses a reload with a new low port for an engine that can no longer open it',
  async (t) => {
    const main = 'user nobody; http_engine uws;';
    const gw = await startAsNobody(t, 'server { return 200 ok; }', { main });
    const added = await freeLowPort();
    expect(await gw.reload(`server { listen 127.0.0.1:${added}; return 200 new; }`)).toBe('refused');
    expect(gw.errorLog()).toContain(`127.0.0.1:${added} with engine=uws needs a restart`);
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

test.runIf(IS_ROOT)('a gateway that root starts keeps no socket of a refused reload', async (t) => {
  const gw = await startAsNobody(t, 'server { return 200 ok; }', { workers: 2 });
  const low = await freeLowPort();
  // No worker opens the second port, because the first one cannot be bound.
  const refused = `server { listen unix:${gw.dir}/none/a.sock; listen 127.0.0.1:${low}; return 200 new; }`;
  const descriptors = (): number => readdirSync(`/proc/${masterPid(gw)}/fd`).length;
  expect(await gw.reload(refused)).toBe('refused');
  const before = descriptors();
  for (let n = 0; n < 5; n++) expect(await gw.reload(refused)).toBe('refused');
  await expect.poll(descriptors).toBeLessThanOrEqual(before);
  await gw.expect('GET /', { status: 200, body: 'ok' });
});

test.runIf(IS_ROOT)(
  'a gateway that root starts refuses new clients of all its ports while it drains',
  async (t) => {
    const [fast, other] = [await freeLowPort(), await freeLowPort()];
    const conf = `server { listen 127.0.0.1:${fast}; listen 127.0.0.1:${other} engine=node;
    client_max_body_size 1m; location / { kv_pass 127.0.0.1:1; kv_command set; kv_key k; } }`;
    const gw = await startAsNobody(t, conf, { port: fast });
    const upload = await gw.connect();
    upload.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n');
    await expect(call(fast, '/')).resolves.toMatchObject({ status: 405 });
    gw.signal('SIGQUIT');
    await gw.waitForLog(/gracefully shutting down/);
    for (const port of [fast, other])
      await expect.poll(() => call(port, '/').then(() => 'answered', String)).toContain('ECONNREFUSED');
    upload.write('0123456789');
    expect(await upload.until(/\}$/)).toContain('HTTP/1.1 50');
    await gw.ended();
  },
);
