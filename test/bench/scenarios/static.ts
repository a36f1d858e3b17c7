import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNginx } from '../nginx.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const BYTES = 4_096;
const FILE = 'file.bin';
/** As nginx documents it; both get it. */
const CACHE = 'open_file_cache max=1000 inactive=60s;';

/** A file of the page cache, as small as most of a site's are. */
export const smallFile = fileScenario('file', { line: 'file of 4 KB / nginx', directives: '' });

export const cachedFile = fileScenario('cached-file', {
  line: 'file of 4 KB, open_file_cache / nginx',
  directives: CACHE,
});

function fileScenario(name: string, { line, directives }: { line: string; directives: string }): Scenario {
  return {
    name,
    async open(bench) {
      writeFileSync(join(bench.dir, FILE), Buffer.alloc(BYTES, 'x'));
      const content = `root ${bench.dir}; ${directives}`;
      const load = (who: string, { port, pid }: Server) =>
        httpLoad(bench, { name: `${who} ${name}`, port, requests: [{ path: `/${FILE}` }], servers: [pid] });
      return {
        subject: load('gw', await startGw(bench, content)),
        peers: [
          {
            line,
            goal: 0.85,
            aim: 1.1,
            open: async () => load('nginx', await startNginx(bench, content)),
          },
        ],
      };
    },
  };
}
