import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  defines,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import { REQUEST } from './leaky-bucket.ts';

/** `limit_req_zone key zone=name:size rate=rate [cluster=name[:exact] | sync[=exact]]`. */
export interface RateZoneConfig {
  readonly name: string;
  readonly sizeBytes: number;
  readonly milliRequestsPerSecond: number;
  readonly key: ComplexValue;
  /** As it was written. */
  readonly keyText: string;
  /** Absent: the zone is not shared. */
  readonly sharing?: ZoneSharing;
}

/** The sharing of a zone by the gateways of a cluster. */
export interface ZoneSharing {
  /** Absent: the only cluster of the configuration, if there is one. */
  readonly cluster?: string;
  /** The store is asked for every request, instead of once for several (a lease). */
  readonly isExact: boolean;
}

/** `limit_req zone=name [burst=number] [nodelay | delay=number]`; all numbers in thousandths of requests. */
interface RateLimitConfig {
  readonly zone: string;
  readonly burst: number;
  /** Fill beyond which requests wait; `Infinity`: never. */
  readonly delay: number;
}

/** Request limits of one location. */
export interface LimitReqConfig {
  readonly zones?: readonly RateZoneConfig[];
  readonly limits?: readonly RateLimitConfig[];
  readonly status: number;
  readonly logLevel: 'info' | 'notice' | 'warn' | 'error';
  readonly dryRun: boolean;
  readonly headers: boolean;
}

const HSL = ['http', 'server', 'location'] as const;

const EXPECTED = 'expected zone=, rate=, cluster=name[:exact] or sync[=exact]';

const zone: ArgReader<RateZoneConfig> = readers.words(
  { syntax: 'key zone=name:size rate=rate [cluster=name[:exact] | sync[=exact]]', min: 3, max: 4 },
  (words, scope) => {
    const [keyWord, ...parameters] = words as [Word, ...Word[]];
    let name = '';
    let sizeBytes = 0;
    let milliRequestsPerSecond = REQUEST;
    let sharing: ZoneSharing | undefined;
    for (const word of parameters) {
      const { value } = word;
      if (value.startsWith('zone=')) {
        const found = readers.readZone(word, scope);
        if (!found) return undefined;
        ({ name, sizeBytes } = found);
      } else if (value.startsWith('rate=')) {
        const found = readRate(word, scope);
        if (found === undefined) return undefined;
        milliRequestsPerSecond = found;
      } else {
        const found = sharing ? undefined : readSharing(value);
        sharing = found;
        if (found) continue;
        scope.report.emerg(`invalid parameter "${value}"`, word.span, EXPECTED);
        return undefined;
      }
    }
    if (name !== '')
      return {
        name,
        sizeBytes,
        milliRequestsPerSecond,
        key: scope.complexValue(keyWord),
        keyText: keyWord.value,
        ...(sharing && { sharing }),
      };
    scope.report.emerg(`"${scope.directive}" must have "zone" parameter`, scope.span);
    return undefined;
  },
);

/** `cluster=main`, `cluster=main:exact`, `sync` (nginx Plus) and `sync=exact`. */
function readSharing(value: string): ZoneSharing | undefined {
  if (value === 'sync' || value === 'sync=exact') return { isExact: value !== 'sync' };
  const [, cluster, exact] = /^cluster=([^:]+)(:exact)?$/s.exec(value) ?? [];
  return cluster === undefined ? undefined : { cluster, isExact: exact !== undefined };
}

function readRate(word: Word, { report }: ReadScope): number | undefined {
  const [, count = '0', unit] = /^rate=(\d{1,9})(r\/s|r\/m)?$/.exec(word.value) ?? [];
  const perSecond = Math.floor((Number(count) * REQUEST) / (unit === 'r/m' ? 60 : 1));
  if (perSecond > 0) return perSecond;
  report.emerg(`invalid rate "${word.value}"`, word.span, 'expected a rate such as rate=10r/s or rate=30r/m');
  return undefined;
}

const limit: ArgReader<RateLimitConfig> = readers.words(
  { syntax: 'zone=name [burst=number] [nodelay | delay=number]', min: 1, max: 3 },
  (words, scope) => {
    let zoneName = '';
    let burst = 0;
    let delay = 0;
    for (const word of words) {
      const [, parameter, text = ''] = /^(zone|burst|delay)=(.*)$/s.exec(word.value) ?? [];
      if (parameter === 'zone') zoneName = text;
      else if (word.value === 'nodelay') delay = Infinity;
      else if (parameter === undefined) {
        scope.report.emerg(
          `invalid parameter "${word.value}"`,
          word.span,
          'expected zone=, burst=, delay= or nodelay',
        );
        return undefined;
      } else {
        const requests = /^\d{1,9}$/.test(text) ? Number(text) : 0;
        if (requests === 0) {
          scope.report.emerg(`invalid ${parameter} value "${word.value}"`, word.span);
          return undefined;
        }
        if (parameter === 'burst') burst = requests * REQUEST;
        else delay = requests * REQUEST;
      }
    }
    if (zoneName !== '') return { zone: zoneName, burst, delay };
    scope.report.emerg(`"${scope.directive}" must have "zone" parameter`, scope.span);
    return undefined;
  },
);

/** Any word but the first may give the name of a cluster. */
const CLUSTER_NAMES = [1, 2, 3].flatMap((word) =>
  uses('cluster', { word, behind: ['cluster='], until: ':' }),
);

/** nginx's limit_req module. */
export const directives = directivesFor<LimitReqConfig>()({
  limit_req_zone: {
    contexts: ['http'],
    args: zone,
    into: 'zones',
    repeat: 'append',
    summary:
      'Shared memory for the request rate of each key, and the allowed rate. With "cluster" the rate is that of all gateways of the cluster together; with ":exact" none of them takes requests ahead from 10 r/s on, so that each one asks the store. "sync" is the only cluster of the configuration, and without effect if there is none.',
    roles: [...defines('request zone', AT.zone), ...CLUSTER_NAMES],
    source: 'nginx ngx_http_limit_req_module#limit_req_zone',
  },
  limit_req: {
    contexts: HSL,
    args: limit,
    into: 'limits',
    repeat: 'append',
    summary:
      'Delays requests that exceed the rate, and refuses those beyond the burst; exact over all workers.',
    roles: uses('request zone', AT.zone),
    source: 'nginx ngx_http_limit_req_module#limit_req',
  },
  limit_req_status: {
    contexts: HSL,
    args: readers.refusalStatus,
    into: 'status',
    default: 503,
    summary: 'Status of refused requests.',
    source: 'nginx ngx_http_limit_req_module#limit_req_status',
  },
  limit_req_log_level: {
    contexts: HSL,
    args: readers.oneOf('info', 'notice', 'warn', 'error'),
    into: 'logLevel',
    default: 'error',
    summary: 'Level at which refusals are logged; delays are logged one level lower.',
    source: 'nginx ngx_http_limit_req_module#limit_req_log_level',
  },
  limit_req_dry_run: {
    contexts: HSL,
    args: readers.flag,
    into: 'dryRun',
    default: false,
    summary: 'Counts and logs, but neither delays nor refuses.',
    source: 'nginx ngx_http_limit_req_module#limit_req_dry_run',
  },
  limit_req_headers: {
    contexts: HSL,
    args: readers.flag,
    into: 'headers',
    default: false,
    summary:
      'Whether responses tell what is left of the limits, in `RateLimit-Policy` and `RateLimit`, and when to come again, in `Retry-After`.',
    source: 'gw',
  },
});

const DUPLICATE = 'duplicate-directive';

/** Checks that each zone is declared once, that each limit has a zone, and that no two limits have the same one. */
export function validate(
  { zones = [], limits = [] }: LimitReqConfig,
  report: ConfigReport<LimitReqConfig>,
): void {
  const bound = new Map<string, string>();
  for (const [index, { name, keyText }] of zones.entries()) {
    const before = bound.get(name);
    if (before === undefined) bound.set(name, keyText);
    else
      report.phrase('zones', `limit_req_zone "${name}" is already bound to key "${before}"`, {
        index,
        rule: DUPLICATE,
      });
  }
  const used = new Set<string>();
  for (const [index, { zone }] of limits.entries()) {
    if (!bound.has(zone))
      report.phrase('limits', `zero size shared memory zone "${zone}"`, {
        index,
        rule: 'bad-reference',
        hint: `declare it: limit_req_zone key zone=${zone}:10m rate=10r/s`,
      });
    if (used.has(zone))
      report.phrase('limits', '"limit_req" directive is duplicate', { index, rule: DUPLICATE });
    used.add(zone);
  }
}
