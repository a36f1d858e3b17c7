import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench } from '../bench.ts';
import { compare, type Contender } from '../compare.ts';
import type { Finding, Row } from '../row.ts';
import { proxyTo, smallUpstream } from '../scenarios/proxy.ts';
import { RETURN } from '../scenarios/return.ts';
import { type Content, partsOf, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

/** Ways to take a tenth of the requests, and none. */
const TRACED = {
  share: 'otel_trace 10%;',
  nginx: 'split_clients $otel_trace_id $tenth { 10% on; * off; } otel_trace $tenth;',
  off: 'otel_trace off;',
} as const;

/** The cost of traces for the cheapest request, and for a proxied one. */
export const tracesRow: Row = {
  name: 'traces',
  async run(bench) {
    const port = await startCollector(bench);
    const exporter = `otel_exporter { endpoint http://127.0.0.1:${port}; protocol http/protobuf; }`;
    const upstream = await smallUpstream(bench);
    const served = { return: RETURN, proxy: proxyTo(upstream) } as const;
    const cases = [
      { line: 'return 200, a tenth traced / no traces', content: served.return, traces: TRACED.share },
      {
        line: 'return 200, a tenth by split_clients / no traces',
        content: served.return,
        traces: TRACED.nginx,
      },
      { line: 'return 200, traces off / no traces', content: served.return, traces: TRACED.off },
      { line: 'proxy, a tenth traced / no traces', content: served.proxy, traces: TRACED.share },
    ];
    const findings: Finding[] = [];
    for (const { line, content, traces } of cases) {
      const compared = await bench.apart(async (own) => {
        const subject = await started(own, content, exporter + traces);
        return compare(own, { subject, peers: [{ line, goal: 0.97, open: () => started(own, content) }] });
      });
      findings.push(...compared);
    }
    return findings;
  },
};

async function started(bench: Bench, content: Content, traces = ''): Promise<Contender> {
  const { http, server } = partsOf(content);
  const { port, pid } = await startGw(bench, { http: `${http} ${traces}`, server });
  return httpLoad(bench, { name: 'gw', port, requests: [{ path: '/' }], servers: [pid] });
}

/** Takes all records and keeps none. Returns its port. */
async function startCollector(bench: Bench): Promise<number> {
  const collector = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  bench.onTestFinished(async () => {
    collector.close();
    collector.closeAllConnections();
  });
  return (collector.address() as AddressInfo).port;
}
