import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Finding, Row } from '../row.ts';
import { type Content, type Server, startGw, startNginx } from '../servers.ts';

const BODY_BYTES = 10_485_760;

interface Exchange {
  readonly name: string;
  readonly goal: number;
  /** Script for wrk. */
  readonly script: string;
  readonly connections: number;
}

const EXCHANGES: readonly Exchange[] = [
  { name: 'a small response', goal: 0.5, script: 'wrk.path = "/small"', connections: 64 },
  { name: '10 MB from the upstream', goal: 0.6, script: 'wrk.path = "/body.bin"', connections: 4 },
  {
    name: '10 MB to the upstream',
    goal: 0.6,
    script: `wrk.method = "POST" wrk.path = "/small" wrk.body = string.rep("x", ${BODY_BYTES})`,
    connections: 4,
  },
];

/** Proxying over connections that are kept alive, to the same nginx behind both. */
export const proxyRow: Row = {
  name: 'proxy',
  async run(bench) {
    writeFileSync(join(bench.dir, 'body.bin'), Buffer.alloc(BODY_BYTES, 'x'));
    const upstream = await startNginx(
      bench,
      `root ${bench.dir}; client_max_body_size 20m; location /small { return 200 "a small answer"; }`,
    );
    const findings: Finding[] = [];
    for (const exchange of EXCHANGES) findings.push(...(await compareOne(bench, exchange, upstream)));
    return findings;
  },
};

async function compareOne(bench: Bench, exchange: Exchange, { port }: Server): Promise<Finding[]> {
  const { name, goal, script, connections } = exchange;
  const text: Content = {
    http: `upstream behind { server 127.0.0.1:${port}; keepalive 64; keepalive_requests 1000000000; }`,
    server: `client_max_body_size 20m; location / {
      proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_set_header X-Real-IP $remote_addr; }`,
  };
  const load = (who: string, server: Server) =>
    httpLoad(bench, {
      name: `${who} ${name}`,
      port: server.port,
      script,
      connections,
      servers: [server.pid],
    });
  return compare(bench, load('gw', await startGw(bench, text)), [
    { line: `${name} / nginx`, goal, open: async () => load('nginx', await startNginx(bench, text)) },
  ]);
}
