import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { joined } from '../../cluster/gateways.ts';
import { gatewayDsn, ownDatabase } from '../../cluster/stores.ts';
import type { AcmeAuthority, Hold } from '../../harness/acme-authority.ts';
import { type Gateway, type Owner, startGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';
import { authorityAt, freePorts, orderingConf, shownCertificate } from './ordering.ts';

const ISSUED = /of issuer "le": issued/;
const TAKEN = /of issuer "le": taken over from another gateway/;
const SECRET = 'a secret of the tests';

interface MemberOptions {
  readonly id: string;
  readonly authority: AcmeAuthority;
  readonly ports: Awaited<ReturnType<typeof freePorts>>;
  readonly backend: string;
  readonly challenge: string;
  /** The name of the site. */
  readonly name: string;
}

/** Starts a gateway, and waits until it has joined the cluster. */
async function startMember(
  t: Owner,
  { id, authority, ports, backend, challenge, name }: MemberOptions,
): Promise<Gateway> {
  const http = `cluster main { backend ${backend}; node_id ${id}; secret "${SECRET}"; heartbeat 500ms; batch 10ms; } acme_cluster main;
    server { listen 127.0.0.1:PLAIN; location = /cluster { control_api cluster; } }`;
  const conf = orderingConf(authority, ports, { http, names: name, issuer: `challenge ${challenge};` });
  const gw = await startGateway(t, conf, { port: ports.plain, fresh: true });
  await joined(gw);
  return gw;
}

/** A store, and all that it has as text. */
interface Backend {
  readonly url: string;
  content(): Promise<string>;
}

async function inRedis(): Promise<Backend> {
  const { client, url } = await redis();
  const read = async (key: string): Promise<unknown> => {
    const type = await client.type(key);
    if (type === 'hash') return [key, await client.hgetall(key)];
    if (type === 'stream') return [key, await client.xrange(key, '-', '+')];
    return [key, type === 'string' ? await client.get(key) : type];
  };
  return {
    url,
    content: async () => JSON.stringify(await Promise.all((await client.keys('*')).map(read))),
  };
}

async function inPostgres(): Promise<Backend> {
  const database = await ownDatabase();
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'gw_cluster'`,
  );
  // Bytes are shown as hex by default.
  const read = ({ name }: { readonly name: string }): Promise<unknown> =>
    database.query(
      `select string_agg(encode(convert_to(t::text, 'utf8'), 'escape'), ' ') as text from ${name} t`,
    );
  return {
    url: gatewayDsn(database),
    content: async () => JSON.stringify(await Promise.all(tables.map(read))),
  };
}

const CASES = [
  { store: 'Redis', open: inRedis, challenge: 'http-01', name: 'a.test' },
  // In the store, the certificate of the case before is still there.
  { store: 'Redis', open: inRedis, challenge: 'tls-alpn-01', name: 'b.test' },
  { store: 'PostgreSQL', open: inPostgres, challenge: 'http-01', name: 'a.test' },
] as const;

for (const { store, open, challenge, name } of CASES)
  test(
    `one gateway orders, the other one is asked for ${challenge}, and both show the certificate (${store})`,
    { timeout: 60_000 },
    async (t) => {
      const { url: backend, content } = await open();
      const [one, other, late] = [await freePorts(), await freePorts(), await freePorts()];
      // The authority knows only the ports of the gateway that does not order.
      const authority = await authorityAt(t, other);
      const member = { authority, backend, challenge, name };
      const hold: Hold = authority.hold('newOrder');
      const a = await startMember(t, { ...member, id: 'a', ports: one });
      await hold.reached;
      const b = await startMember(t, { ...member, id: 'b', ports: other });
      hold.release();
      await Promise.all([a.waitForLog(ISSUED), b.waitForLog(TAKEN)]);
      expect(b.errorLog()).not.toMatch(ISSUED);
      const shown = await Promise.all([one, other].map(({ tls }) => shownCertificate(tls, name)));
      expect(shown[0]).toBeDefined();
      expect(shown[0]?.fingerprint256).toBe(shown[1]?.fingerprint256);
      expect([authority.accounts.length, authority.issued.length]).toEqual([1, 1]);

      // A gateway that joins later needs no authority.
      authority.isAway = true;
      const c = await startMember(t, { ...member, id: 'c', ports: late });
      await c.waitForLog(TAKEN);
      expect((await shownCertificate(late.tls, name))?.fingerprint256).toBe(shown[0]?.fingerprint256);

      const kept = [a, b, c].map((gw) =>
        readFileSync(join(gw.dir, 'state', 'certificates', name, 'pair.pem'), 'utf8'),
      );
      expect(new Set(kept).size).toBe(1);
      const key = kept[0]?.split('-----BEGIN PRIVATE KEY-----\n')[1]?.slice(0, 40) ?? 'no key';
      expect(key).toMatch(/^[\w+/]{40}$/);
      const stored = await content();
      expect(stored.length).toBeGreaterThan(500);
      for (const secret of [key, 'BEGIN', name]) expect(stored).not.toContain(secret);
    },
  );
