import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Comparison } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import { startBareUws } from '../peers/index.ts';
import { sizeText } from '../quantities.ts';
import type { Row } from '../row.ts';
import { proxyTo } from '../scenarios/proxy.ts';
import { type Content, type Server, startGw } from '../servers.ts';
import { type HttpRequest, httpLoad } from '../target.ts';
import { series } from './series.ts';

const SIZES = [1_024, 102_400, 1_048_576, 10_485_760];

export const filesRow = bodiesRow('files', {
  line: (size) => `file of ${size}`,
  open: async (own, bytes) => ({ content: rootOf(own, bytes), request: FILE }),
});

export const downloadsRow = bodiesRow('downloads', {
  line: (size) => `proxy, ${size} from the upstream`,
  open: async (own, bytes) => ({
    content: proxyTo(await startNginx(own, rootOf(own, bytes))),
    request: FILE,
  }),
});

/** Both send a body on as it comes; otherwise nginx would write large ones to disk first, as it does by default. */
export const uploadsRow = bodiesRow('uploads', {
  line: (size) => `proxy, ${size} to the upstream`,
  async open(own, bytes) {
    const settings = 'client_max_body_size 20m; client_body_buffer_size 1m;';
    const { http, server } = proxyTo(await startBareUws(own));
    return {
      content: { http, server: `${settings} proxy_request_buffering off; ${server}` },
      request: { method: 'POST', path: '/', body: 'x'.repeat(bytes) },
    };
  },
});

const FILE: HttpRequest = { path: '/body.bin' };

function rootOf({ dir }: Bench, bytes: number): string {
  writeFileSync(join(dir, 'body.bin'), Buffer.alloc(bytes, 'x'));
  return `root ${dir};`;
}

interface Transfer {
  readonly content: Content;
  readonly request: HttpRequest;
}

interface Bodies {
  readonly line: (size: string) => string;
  readonly open: (own: Bench, bytes: number) => Promise<Transfer>;
}

function bodiesRow(name: string, { line, open }: Bodies): Row {
  const lineOf = (bytes: number): string => `${line(sizeText(bytes))} / nginx`;
  return {
    name,
    run: (bench) =>
      series(bench, {
        sizes: SIZES,
        name: lineOf,
        open: async (own, bytes) =>
          transfer(own, { line: lineOf(bytes), bytes, ...(await open(own, bytes)) }),
      }),
  };
}

/** Large bodies are sent on few connections: there is no more memory traffic with many. */
async function transfer(
  bench: Bench,
  { line, bytes, content, request }: Transfer & { line: string; bytes: number },
): Promise<Comparison> {
  const connections = bytes < 1_048_576 ? 64 : bytes === 1_048_576 ? 16 : 4;
  const load = (name: string, { port, pid }: Server) =>
    httpLoad(bench, { name, port, requests: [request], connections, servers: [pid] });
  return {
    subject: load('gw', await startGw(bench, content)),
    peers: [{ line, open: async () => load('nginx', await startNginx(bench, content)) }],
  };
}
