import { call } from '../../harness/http.ts';
import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { startGw, startRedis, startWebdis } from '../servers.ts';

const VALUE = 'v'.repeat(100);

/** One key of one Redis, read through both gateways; the CPU time of Redis counts for both. */
export const kvRow: Row = {
  name: 'kv',
  async run(bench) {
    const redis = await startRedis(bench);
    const pass = `kv_pass 127.0.0.1:${redis.port}`;
    const gw = await startGw(
      bench,
      `location /GET/ { ${pass}; kv_key $arg_key; }
       location /SET { ${pass}; kv_command set; kv_key key; }`,
    );
    const { status, body } = await call(gw.port, '/SET', { method: 'POST', body: VALUE });
    if (status !== 200) throw new Error(`the gateway answers a set with ${status}: ${body}`);
    const subject = httpLoad(bench, {
      name: 'gw kv',
      port: gw.port,
      script: 'wrk.path = "/GET/?key=key"',
      servers: [gw.pid, redis.pid],
    });
    return compare(bench, subject, [
      {
        line: 'kv get / Webdis',
        goal: 1.3,
        open: async () => {
          const { port, pid } = await startWebdis(bench, redis.port);
          const script = 'wrk.path = "/GET/key"';
          return httpLoad(bench, { name: 'webdis', port, script, servers: [pid, redis.pid] });
        },
      },
    ]);
  },
};
