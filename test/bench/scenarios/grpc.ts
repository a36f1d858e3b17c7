import { startNginx } from '../nginx.ts';
import { startBareRelay, startHello } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { startGw } from '../servers.ts';
import type { HttpRequest } from '../target.ts';
import { streamLoad } from '../streams.ts';
import { overHttp2 } from './http2.ts';

/** Five bytes before each message: whether it is compressed, and its length. */
const MESSAGE = '\0\0\0\0\x05hello';

const CALL: HttpRequest = {
  method: 'POST',
  path: '/test.Echo/Unary',
  headers: { 'content-type': 'application/grpc', te: 'trailers' },
  body: MESSAGE,
};

/** Unary calls to the same upstream behind both. */
export const unaryCalls: Scenario = {
  name: 'grpc',
  async open(bench) {
    const { port: behind } = await startHello(bench, 'grpc');
    const http = `upstream behind { server 127.0.0.1:${behind}; keepalive 64; keepalive_requests 1000000000; }`;
    const location = 'location / { grpc_pass grpc://behind; }';
    const load = overHttp2(bench, { location, request: CALL });
    return {
      subject: await load('gw grpc', (server) => startGw(bench, { http, server })),
      peers: [
        {
          line: 'gRPC, unary calls / nginx',
          open: () => load('nginx grpc', (server) => startNginx(bench, { http, server })),
        },
        {
          line: 'gRPC, unary calls / bare relay of node:http2',
          open: async () => {
            const { pid, port } = await startBareRelay(bench, behind);
            return streamLoad(bench, { name: 'node grpc', port, request: CALL, servers: [pid] });
          },
        },
      ],
    };
  },
};
