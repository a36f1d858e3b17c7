import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, directivesFor, readers, type Rows, uses } from '../../config/index.ts';
import type { HealthConfig } from '../../contract/index.ts';
import { healthCheck } from './read-check.ts';
import { readMatch } from './read-match.ts';
import { peerProbe, probeMatch, probeTime, probeUrl } from './read-probe.ts';

/** The configuration of one location or upstream. */
export interface HealthModuleConfig extends HealthConfig {
  readonly liveness?: true;
  readonly readiness?: true;
  readonly status?: true;
  readonly metrics?: true;
}

/** `n%` or a number of percent. */
const percent: ArgReader<number> = readers.oneWord('number%', (word: Word, { report, directive }) => {
  const [, digits = ''] = /^(\d{1,3})%?$/.exec(word.value) ?? [];
  const number = digits === '' ? 101 : Number(digits);
  if (number <= 100) return number;
  report.emerg(`"${directive}" directive invalid value`, word.span, 'expected 0% to 100%');
  return undefined;
});

const MATCH = {
  contexts: ['http'],
  words: { min: 1, max: 1 },
  data: (node, scope) => {
    const block = readMatch(node, scope);
    return block && [block];
  },
  into: 'matches',
  merge: (before, added) => [...before, ...added],
  syntax: 'name { ... }',
} as const satisfies Partial<Rows<HealthModuleConfig>[string]>;

const OWN = { inherit: false, source: 'gw' } as const;
const SERVED = { contexts: ['location'], inherit: 'nameless', source: 'gw' } as const;
const count = readers.integer({ min: 1, max: 2 ** 30 });

const MS = 'without a unit in milliseconds';

/** The settings of a probe of a URL. */
const SETTINGS = directivesFor<HealthModuleConfig>()({
  interval: {
    ...OWN,
    contexts: [],
    args: probeTime,
    into: 'probeIntervalMs',
    default: 5000,
    summary: `Time from the start of one probe to the next; ${MS}.`,
  },
  timeout: {
    ...OWN,
    contexts: [],
    args: probeTime,
    into: 'probeTimeoutMs',
    default: 1000,
    summary: `Longest duration of a probe; ${MS}.`,
  },
  fails: {
    ...OWN,
    contexts: [],
    args: count,
    into: 'probeFails',
    default: 2,
    summary: 'Number of probes in a row that must fail.',
  },
  passes: {
    ...OWN,
    contexts: [],
    args: count,
    into: 'probePasses',
    default: 1,
    summary: 'Number of probes in a row that must succeed after failures.',
  },
  slow_start: {
    ...OWN,
    contexts: [],
    args: probeTime,
    into: 'probeSlowStartMs',
    default: 0,
    summary: `Time in which the share of a healthy server grows to its weight; ${MS}.`,
  },
  match: {
    ...OWN,
    contexts: [],
    args: probeMatch,
    into: 'probeRules',
    summary:
      'Statuses of a response that is a success, and a text that its body must have; default: 200 to 399.',
  },
});

/** Returns the settings for one of the two directives that name a URL. */
function settingsOf(directive: string, context: 'location' | 'upstream'): Rows<HealthModuleConfig> {
  const rows = Object.entries(SETTINGS).map(([name, row]) => [
    `${directive}_${name}`,
    { ...row, contexts: [context] },
  ]);
  return Object.fromEntries(rows) as Rows<HealthModuleConfig>;
}

/** Directives for active checks, the probes of nginz, and the locations that show their results. */
export const directives: Rows<HealthModuleConfig> = {
  ...directivesFor<HealthModuleConfig>()({
    health_check: {
      contexts: ['upstream', 'location'],
      args: healthCheck,
      into: 'checks',
      repeat: 'append',
      inherit: false,
      summary:
        'Sends a request to each server of the group in each interval. A server that fails gets no requests until it succeeds again. In a location it needs a "proxy_pass" without variables, and uses its timeouts, headers and TLS settings.',
      source: 'nginx ngx_http_upstream_hc_module#health_check',
    },
    match: {
      ...MATCH,
      summary:
        'What the response to a probe must be: "status", "header", "body" and "require"; all must hold.',
      source: 'nginx ngx_http_upstream_hc_module#match',
    },
    health_match: { ...MATCH, summary: 'Another name of "match".', source: 'gw' },
    health_panic: {
      ...OWN,
      contexts: ['upstream'],
      args: percent,
      into: 'panicPercent',
      default: 0,
      defaultText: '0%',
      summary:
        'If fewer servers than this part are healthy, active checks are ignored: an overloaded group is not reduced further.',
    },
    health_upstream_probe: {
      ...OWN,
      contexts: ['upstream'],
      args: probeUrl,
      into: 'probeUrl',
      summary: 'A URL whose health stands for the group. It is shown, and decides about no request.',
    },
    health_upstream_peer_probe: {
      ...OWN,
      contexts: ['upstream'],
      args: peerProbe,
      into: 'peerProbes',
      repeat: 'append',
      summary: 'A URL whose health decides whether one server of the group gets requests.',
    },
    health_probe: {
      ...OWN,
      contexts: ['location'],
      args: probeUrl,
      into: 'probeUrl',
      summary: 'A URL whose health stands for the service: while it fails, "health_readiness" gives 503.',
    },
    health_liveness: {
      ...SERVED,
      args: readers.present,
      into: 'liveness',
      summary: 'Gives 200 as long as a worker responds.',
    },
    health_readiness: {
      ...SERVED,
      args: readers.present,
      into: 'readiness',
      summary: 'Gives 200, or 503 while a "health_probe" fails or the gateway is about to stop.',
    },
    health_status: {
      ...SERVED,
      args: readers.present,
      into: 'status',
      summary: 'Shows the results of all probes and checks, and numbers of requests, as JSON.',
    },
    health_metrics: {
      ...SERVED,
      args: readers.present,
      into: 'metrics',
      summary:
        'Shows the results of all probes and checks in the text format of Prometheus, under the names of nginz.',
    },
    health_worker_events_zone: {
      contexts: ['http', 'upstream', 'location'],
      args: readers.text,
      into: 'eventsZone',
      roles: uses('event ring'),
      source: 'gw',
      summary: 'The event ring, declared by "worker_events_zone", in which changes of health are published.',
    },
    health_worker_events_channel: {
      contexts: ['http', 'upstream', 'location'],
      args: readers.text,
      into: 'eventsChannel',
      source: 'gw',
      summary: 'The channel of these events; 1 to 64 bytes. Without the zone nothing is published.',
    },
  }),
  ...settingsOf('health_probe', 'location'),
  ...settingsOf('health_upstream_probe', 'upstream'),
};
