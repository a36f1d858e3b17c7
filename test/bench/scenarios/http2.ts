import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../harness/ports.ts';
import { startNginx } from '../nginx.ts';
import { startBareHttp2 } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { partsOf, type Server, startGw } from '../servers.ts';
import type { Bench } from '../bench.ts';
import { streamLoad } from '../streams.ts';
import type { HttpRequest } from '../target.ts';
import { proxyTo, smallUpstream } from './proxy.ts';
import { RETURN } from './return.ts';

const BYTES = 4_096;
const FILE = 'file.bin';

/** Requests over HTTP/2 without TLS, on a second port of the server: the first shows that it serves. */
export function overHttp2(
  bench: Bench,
  { location, request }: { readonly location: string; readonly request: HttpRequest },
): (name: string, start: (content: string) => Promise<Server>) => Promise<ReturnType<typeof streamLoad>> {
  return async (name, start) => {
    const port = await freePort();
    const { pid } = await start(`listen 127.0.0.1:${port} http2; ${location}`);
    return streamLoad(bench, { name, port, request, servers: [pid] });
  };
}

/** The cost of a stream. */
export const http2Return: Scenario = {
  name: 'http2',
  async open(bench) {
    const load = overHttp2(bench, { location: RETURN, request: { path: '/' } });
    return {
      subject: await load('gw http2', (content) => startGw(bench, content)),
      peers: [
        {
          line: 'HTTP/2, return 200 / nginx',
          goal: 0.45,
          aim: 0.7,
          open: () => load('nginx http2', (content) => startNginx(bench, content)),
        },
        {
          line: 'HTTP/2, return 200 / bare node:http2',
          open: async () => {
            const { pid, port } = await startBareHttp2(bench);
            return streamLoad(bench, { name: 'node http2', port, request: { path: '/' }, servers: [pid] });
          },
        },
      ],
    };
  },
};

export const http2File: Scenario = {
  name: 'http2-file',
  async open(bench) {
    writeFileSync(join(bench.dir, FILE), Buffer.alloc(BYTES, 'x'));
    const load = overHttp2(bench, { location: `root ${bench.dir};`, request: { path: `/${FILE}` } });
    return {
      subject: await load('gw http2 file', (content) => startGw(bench, content)),
      peers: [
        {
          line: 'HTTP/2, file of 4 KB / nginx',
          goal: 0.55,
          aim: 0.7,
          open: () => load('nginx http2 file', (content) => startNginx(bench, content)),
        },
      ],
    };
  },
};

export const http2Proxy: Scenario = {
  name: 'http2-proxy',
  async open(bench) {
    const { http, server } = partsOf(proxyTo(await smallUpstream(bench)));
    const load = overHttp2(bench, { location: server, request: { path: '/' } });
    return {
      subject: await load('gw http2 proxy', (content) => startGw(bench, { http, server: content })),
      peers: [
        {
          line: 'HTTP/2, proxy, small response / nginx',
          goal: 0.5,
          aim: 0.7,
          open: () => load('nginx http2 proxy', (content) => startNginx(bench, { http, server: content })),
        },
      ],
    };
  },
};
