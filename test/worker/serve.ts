import type { PortHandler } from '../../src/compile/index.ts';
import type { ResponseRules } from '../../src/http/index.ts';
import { Admission, Heartbeat, NodeTransport, UwsTransport } from '../../src/worker/transport/index.ts';
import { Connections } from '../../src/zone/index.ts';
import { aloneCounters } from '../harness/counters.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { connectRaw } from '../harness/raw.ts';
import { freePort } from '../harness/ports.ts';
import { RULES } from '../harness/rules.ts';

export const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** The client asks for the end of the connection: after a chunked response uWebSockets.js leaves the closing to the client. */
export const LAST_GET = GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

/** The log of the transport of the last `serve`. */
export const lines: string[] = [];

export const HEAD: PortHandler['head'] = {
  lineBytes: 4096,
  bytes: 4096,
  fieldBytes: 4096,
  fieldsBytes: 4096,
  timeoutMs: 1_000,
  underscores: false,
  ignoresInvalid: true,
  maxHeaders: 1000,
  mergeSlashes: true,
};

/** A port of the transport alone, until the test ends. */
export async function serve(
  t: { onTestFinished(stop: () => void): void },
  { rules = {}, ...handler }: Partial<Omit<PortHandler, 'rules'>> & { rules?: Partial<ResponseRules> },
): Promise<number> {
  lines.length = 0;
  const port = await freePort();
  const connections = new Connections(aloneCounters());
  const log = { write: (_: unknown, message: string) => void lines.push(message) };
  const Engine = ON_NODE_ENGINE || handler.http2 ? NodeTransport : UwsTransport;
  const open = await new Engine({
    log,
    connections,
    admission: new Admission(log, connections),
    heartbeat: new Heartbeat(new SharedArrayBuffer(4), 0),
    acceptor: undefined,
  }).open({
    key: `127.0.0.1:${port}`,
    address: { kind: 'inet', host: '127.0.0.1', port },
    facts: { scheme: 'http', port, address: '127.0.0.1' },
    engine: 'auto',
    proxyProtocol: false,
    head: HEAD,
    headLimits: HEAD,
    serverName: 'a',
    needs: { headers: new Set(), allHeaders: false, peer: false },
    usage: { inFlight: 0 },
    enter: () => undefined,
    enterByLine: (x) => void (x.serverName = 'a'),
    serve: (x) => x.send(200, '', 'fine'),
    rules: { ...RULES, writeLog: (message) => void lines.push(message), ...rules },
    ...handler,
  });
  t.onTestFinished(() => {
    open.stopAccepting();
    void open.close();
  });
  return port;
}

/** Everything that comes back until the gateway closes. */
export async function responseTo(port: number, bytes: string): Promise<string> {
  const connection = await connectRaw(port);
  connection.write(bytes);
  return connection.closed;
}
