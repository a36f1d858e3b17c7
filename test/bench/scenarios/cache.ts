import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNginx } from '../nginx.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';
import { proxyTo } from './proxy.ts';

const FILE = 'file.bin';

/** Stored responses of an upstream that serves files; all requests of the load are hits. */
export const smallHit = hitScenario('cache-4k', { bytes: 4_096, line: 'cache hit of 4 KB / nginx' });
export const largeHit = hitScenario('cache-100k', { bytes: 102_400, line: 'cache hit of 100 KB / nginx' });

function hitScenario(name: string, { bytes, line }: { bytes: number; line: string }): Scenario {
  return {
    name,
    async open(bench) {
      writeFileSync(join(bench.dir, FILE), Buffer.alloc(bytes, 'x'));
      const upstream = await startNginx(bench, `root ${bench.dir};`);
      const { http, server } = proxyTo(upstream);
      const content = {
        http: `${http} proxy_cache_path cache levels=1:2 keys_zone=hits:10m inactive=1h;`,
        server: `proxy_cache hits; proxy_cache_valid 200 1h; ${server}`,
      };
      const load = (who: string, { port, pid }: Server) =>
        httpLoad(bench, { name: `${who} ${name}`, port, requests: [{ path: `/${FILE}` }], servers: [pid] });
      return {
        subject: load('gw', await startGw(bench, content)),
        peers: [{ line, open: async () => load('nginx', await startNginx(bench, content)) }],
      };
    },
  };
}
