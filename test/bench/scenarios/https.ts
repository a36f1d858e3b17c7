import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Certificates } from '../../harness/certificates.ts';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import type { Contender } from '../compare.ts';
import { handshakeLoad } from '../handshakes.ts';
import { startNginx } from '../nginx.ts';
import { startBareTls } from '../peers/index.ts';
import type { Goals } from '../row.ts';
import type { Scenario } from '../scenario.ts';
import { type Content, partsOf, type Server, startGw } from '../servers.ts';
import { httpLoad, type HttpRequest } from '../target.ts';
import { proxyTo, smallUpstream } from './proxy.ts';
import { RETURN } from './return.ts';

const BYTES = 4_096;
const FILE = 'file.bin';

type Engine = 'uws' | 'node';
const ENGINES: Readonly<Record<Engine, string>> = { uws: 'uWebSockets.js', node: 'node engine' };

/** What is asked for over TLS 1.3 with a certificate of an elliptic curve, on connections that are kept. */
interface SecureScenario {
  readonly name: string;
  /** Of the line in the table. */
  readonly what: string;
  readonly request: HttpRequest;
  content(bench: Bench): Promise<Content> | Content;
  readonly goals: Readonly<Record<Engine, Goals>>;
}

const returned: SecureScenario = {
  name: 'https',
  what: 'HTTPS, return 200',
  request: { path: '/' },
  content: () => RETURN,
  goals: { uws: { goal: 0.9, aim: 1 }, node: { goal: 0.6, aim: 0.7 } },
};

const secure: readonly SecureScenario[] = [
  returned,
  {
    name: 'https-file',
    what: 'HTTPS, file of 4 KB',
    request: { path: `/${FILE}` },
    content(bench) {
      writeFileSync(join(bench.dir, FILE), Buffer.alloc(BYTES, 'x'));
      return `root ${bench.dir};`;
    },
    goals: { uws: {}, node: { goal: 0.6, aim: 0.7 } },
  },
  {
    name: 'https-proxy',
    what: 'HTTPS, proxy, small response',
    request: { path: '/' },
    content: async (bench) => proxyTo(await smallUpstream(bench)),
    goals: { uws: {}, node: { goal: 0.55, aim: 0.7 } },
  },
];

/** From either engine. */
export const httpsScenarios: readonly Scenario[] = secure.flatMap((scenario) =>
  (Object.keys(scenario.goals) as Engine[]).map((engine) => secureScenario(scenario, engine)),
);

export const httpsReturn = secureScenario(returned, 'node');

function secureScenario({ name, what, request, content, goals }: SecureScenario, engine: Engine): Scenario {
  const own = engine === 'uws' ? `${name}-uws` : name;
  return {
    name: own,
    async open(bench) {
      const open = overTls(bench, await content(bench));
      const load = (who: string, { port, pid }: Server): Contender =>
        httpLoad(bench, {
          name: `${who} ${own}`,
          port,
          traffic: 'https',
          requests: [request],
          servers: [pid],
        });
      return {
        subject: load('gw', await open(`engine=${engine}`, (secured) => startGw(bench, secured))),
        peers: [
          {
            line: `${what}, ${ENGINES[engine]} / nginx`,
            ...goals[engine],
            open: async () => load('nginx', await open('', (secured) => startNginx(bench, secured))),
          },
        ],
      };
    },
  };
}

/** TLS 1.3 with a connection for each request, beside nginx and what Node.js makes of it with the least work. */
function handshakeScenario(kind: 'full' | 'resumed'): Scenario {
  return {
    name: kind === 'full' ? 'handshakes' : 'resumed-handshakes',
    async open(bench) {
      const pair = pairOf(bench);
      const open = overTls(bench, RETURN, pair);
      const load = (who: string, { port, pid }: Server): Contender =>
        handshakeLoad(
          { name: `${who} ${kind} handshakes`, port, request: { path: '/' }, servers: [pid] },
          kind,
        );
      return {
        subject: load('gw', await open('engine=node', (secured) => startGw(bench, secured))),
        peers: [
          {
            line: `${kind} handshakes / nginx`,
            goal: 0.7,
            aim: 0.9,
            open: async () => load('nginx', await open('', (secured) => startNginx(bench, secured))),
          },
          {
            line: `${kind} handshakes / bare node:tls`,
            open: async () => load('node', await startBareTls(bench, pair)),
          },
        ],
      };
    },
  };
}

export const fullHandshakes = handshakeScenario('full');
export const resumedHandshakes = handshakeScenario('resumed');

/** Starts servers with TLS on a second port: the first shows that they serve. */
function overTls(
  bench: Bench,
  content: Content,
  pair: Pair = pairOf(bench),
): (parameters: string, start: (content: Content) => Promise<Server>) => Promise<Server> {
  const { http, server } = partsOf(content);
  return async (parameters, start) => {
    const port = await freePort();
    const listen = `listen 127.0.0.1:${port} ssl ${parameters};`;
    const { pid } = await start({ http, server: `${listen} ${directivesOf(pair)} ${server}` });
    return { port, pid };
  };
}

/** Paths of a certificate and its key. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate that lasts as long as the row. */
export function pairOf(bench: Bench): Pair {
  const certificates = new Certificates();
  bench.onTestFinished(async () => rmSync(certificates.dir, { recursive: true, force: true }));
  certificates.authority('a');
  return { certificate: certificates.path('a.crt'), key: certificates.path('a.key') };
}

export function directivesOf({ certificate, key }: Pair): string {
  return `ssl_certificate ${certificate}; ssl_certificate_key ${key};`;
}
