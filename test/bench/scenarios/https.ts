import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Certificates } from '../../harness/certificates.ts';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import type { Contender } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import type { Goals } from '../row.ts';
import type { Scenario } from '../scenario.ts';
import { type Content, partsOf, type Server, startGw } from '../servers.ts';
import { httpLoad, type HttpRequest } from '../target.ts';
import { proxyTo, smallUpstream } from './proxy.ts';

const BYTES = 4_096;
const FILE = 'file.bin';

/** What is asked for over TLS 1.3 with a certificate of an elliptic curve, from either engine. */
interface SecureScenario {
  readonly name: string;
  /** Of the line in the table. */
  readonly what: string;
  readonly request: HttpRequest;
  content(bench: Bench): Promise<Content> | Content;
  /** Of the engines that are measured. */
  readonly goals: Readonly<Partial<Record<Engine, Goals>>>;
}

type Engine = 'uws' | 'node';
const ENGINES: Readonly<Record<Engine, string>> = { uws: 'uWebSockets.js', node: 'node engine' };

const secure: readonly SecureScenario[] = [
  {
    name: 'https',
    what: 'HTTPS, return 200',
    request: { path: '/' },
    content: () => 'location / { return 200 ok; }',
    goals: { uws: { goal: 0.9, aim: 1 }, node: { goal: 0.6, aim: 0.7 } },
  },
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
  {
    name: 'handshakes',
    what: 'full handshakes',
    request: { path: '/', headers: { Connection: 'close' } },
    content: () => 'location / { return 200 ok; }',
    // wrk counts an error for each connection that uWebSockets.js closes, because its responses do not say so.
    goals: { node: { goal: 0.7, aim: 0.9 } },
  },
];

export const httpsScenarios: readonly Scenario[] = secure.flatMap((scenario) =>
  (Object.keys(scenario.goals) as Engine[]).map((engine) => secureScenario(scenario, engine)),
);

function secureScenario({ name, what, request, content, goals }: SecureScenario, engine: Engine): Scenario {
  const own = engine === 'uws' ? `${name}-uws` : name;
  return {
    name: own,
    async open(bench) {
      const load = overTls(bench, { content: await content(bench), request, name: own });
      return {
        subject: await load('gw', `engine=${engine}`, (secured) => startGw(bench, secured)),
        peers: [
          {
            line: `${what}, ${ENGINES[engine]} / nginx`,
            ...goals[engine],
            open: () => load('nginx', '', (secured) => startNginx(bench, secured)),
          },
        ],
      };
    },
  };
}

interface SecureLoad {
  readonly content: Content;
  readonly request: HttpRequest;
  readonly name: string;
}

type StartServer = (content: Content) => Promise<Server>;

/** Starts servers with TLS on a second port: the first shows that they serve. */
function overTls(
  bench: Bench,
  { content, request, name }: SecureLoad,
): (who: string, parameters: string, start: StartServer) => Promise<Contender> {
  const pair = pairOf(bench);
  const { http, server } = partsOf(content);
  return async (who, parameters, start) => {
    const port = await freePort();
    const listen = `listen 127.0.0.1:${port} ssl ${parameters};`;
    const { pid } = await start({ http, server: `${listen} ${pair} ${server}` });
    return httpLoad(bench, {
      name: `${who} ${name}`,
      port,
      isSecure: true,
      requests: [request],
      servers: [pid],
    });
  };
}

/** The directives of a certificate that lasts as long as the row. */
export function pairOf(bench: Bench): string {
  const certificates = new Certificates();
  bench.onTestFinished(async () => rmSync(certificates.dir, { recursive: true, force: true }));
  certificates.authority('a');
  return `ssl_certificate ${certificates.path('a.crt')}; ssl_certificate_key ${certificates.path('a.key')};`;
}
