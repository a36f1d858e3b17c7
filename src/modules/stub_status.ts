import { directivesFor, readers } from '../config/index.ts';
import { type ExplainedAction, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { compileRead, compileReadGate, type Exchange, isRead, type KnowsHost } from '../http/index.ts';
import { Connections, type ConnectionTotals } from '../zone/index.ts';

/** The configuration of `stub_status` in one location. */
interface StubStatusConfig {
  readonly status?: true;
}

const directives = directivesFor<StubStatusConfig>()({
  stub_status: {
    contexts: ['server', 'location'],
    // nginx: required until 1.7.5, ignored since.
    args: readers.words({ syntax: '[on]', min: 0, max: 1 }, () => true as const),
    into: 'status',
    inherit: 'nameless',
    summary: 'Shows the numbers of connections and requests of all workers.',
    source: 'nginx ngx_http_stub_status_module#stub_status',
  },
});

const total = (summary: string, field: keyof ConnectionTotals): VariableDefinition => ({
  summary,
  live: true,
  compile({ metrics }) {
    const connections = new Connections(metrics);
    return () => String(connections.totals()[field]);
  },
});

interface StatusScope {
  readonly knowsHost: KnowsHost;
}

/** nginx's stub_status module: numbers of connections and requests. */
export const stubStatus = moduleFor<StubStatusConfig>()<StatusScope>({
  name: 'stub_status',
  summary: 'Counts of connections and requests, as text.',
  directives,
  content: 'status',
  enabled: ({ status }) => status === true,
  variables: {
    connections_active: total('Connections that are open.', 'active'),
    connections_reading: total('Connections where the request head is being read: 0.', 'reading'),
    connections_writing: total('Requests that are being processed.', 'writing'),
    connections_waiting: total('Connections that are idle.', 'waiting'),
  },
  sensitive: () => ({ rule: 'status-exposed', field: 'status' }),
  provision: (_config, worker) => ({ knowsHost: (host) => worker.view.knowsHost(host) }),
  // As in nginx, programs may send any host name.
  compile: (_config, { knowsHost }, build) => ({
    content: compileRead(statusOf(new Connections(build.metrics)), {
      gate: compileReadGate(build, knowsHost, { foreignNames: 'of programs' }),
      forbid: (x, reason) => x.send(403, 'text/plain', `${reason}\n`),
    }),
  }),
  explanation: {
    explain: () => ({
      content: (x) => {
        if (isRead(x)) return TOLD;
        x.end(405);
        return undefined;
      },
    }),
  },
});

const TOLD: ExplainedAction = {
  does: 'shows the numbers of connections and requests',
  unknown: 'the numbers',
};

function statusOf(connections: Connections): (x: Exchange) => void {
  return (x) => {
    const { active, accepted, handled, requests, reading, writing, waiting } = connections.totals();
    x.send(
      200,
      'text/plain',
      `Active connections: ${active} \n` +
        'server accepts handled requests\n' +
        ` ${accepted} ${handled} ${requests} \n` +
        `Reading: ${reading} Writing: ${writing} Waiting: ${waiting} \n`,
    );
  };
}
