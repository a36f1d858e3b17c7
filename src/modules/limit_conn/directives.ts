import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  defines,
  directivesFor,
  readers,
  uses,
} from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';

/** `limit_conn_zone key zone=name:size`. */
export interface ConnZoneConfig {
  readonly name: string;
  readonly sizeBytes: number;
  readonly key: ComplexValue;
  /** As it was written. */
  readonly keyText: string;
}

/** `limit_conn zone number`. */
interface ConnLimitConfig {
  readonly zone: string;
  readonly maxRequests: number;
}

/** Connection limits of one location. */
export interface LimitConnConfig {
  readonly zones?: readonly ConnZoneConfig[];
  readonly limits?: readonly ConnLimitConfig[];
  readonly status: number;
  readonly logLevel: 'info' | 'notice' | 'warn' | 'error';
  readonly dryRun: boolean;
}

const HSL = ['http', 'server', 'location'] as const;
const MAX_REQUESTS = 65_535;

const zone: ArgReader<ConnZoneConfig> = readers.words(
  { syntax: 'key zone=name:size', min: 2, max: 2 },
  (words, scope) => {
    const [keyWord, zoneWord] = words as [Word, Word];
    if (!zoneWord.value.startsWith('zone=')) {
      scope.report.emerg(`invalid parameter "${zoneWord.value}"`, zoneWord.span, 'expected zone=name:size');
      return undefined;
    }
    const found = readers.readZone(zoneWord, scope);
    if (found?.name === '') scope.report.emerg(`"${scope.directive}" must have "zone" parameter`, scope.span);
    if (!found?.name) return undefined;
    return { ...found, key: scope.complexValue(keyWord), keyText: keyWord.value };
  },
);

const limit: ArgReader<ConnLimitConfig> = readers.words(
  { syntax: 'zone number', min: 2, max: 2 },
  (words, { report }) => {
    const [zoneWord, numberWord] = words as [Word, Word];
    const maxRequests = /^\d{1,15}$/.test(numberWord.value) ? Number(numberWord.value) : 0;
    if (maxRequests === 0)
      report.emerg(`invalid number of connections "${numberWord.value}"`, numberWord.span);
    else if (maxRequests > MAX_REQUESTS)
      report.emerg(`connection limit must be less ${MAX_REQUESTS + 1}`, numberWord.span);
    else return { zone: zoneWord.value, maxRequests };
    return undefined;
  },
);

/** nginx's limit_conn module. */
export const directives = directivesFor<LimitConnConfig>()({
  limit_conn_zone: {
    contexts: ['http'],
    args: zone,
    into: 'zones',
    repeat: 'append',
    summary: 'Shared memory for the number of active requests of each key.',
    roles: defines('connection zone', AT.zone),
    source: 'nginx ngx_http_limit_conn_module#limit_conn_zone',
  },
  limit_conn: {
    contexts: HSL,
    args: limit,
    into: 'limits',
    repeat: 'append',
    summary: 'Maximum number of active requests of one key, over all workers.',
    roles: uses('connection zone'),
    source: 'nginx ngx_http_limit_conn_module#limit_conn',
  },
  limit_conn_status: {
    contexts: HSL,
    args: readers.refusalStatus,
    into: 'status',
    default: 503,
    summary: 'Status of refused requests.',
    source: 'nginx ngx_http_limit_conn_module#limit_conn_status',
  },
  limit_conn_log_level: {
    contexts: HSL,
    args: readers.oneOf('info', 'notice', 'warn', 'error'),
    into: 'logLevel',
    default: 'error',
    summary: 'Level at which refusals are logged.',
    source: 'nginx ngx_http_limit_conn_module#limit_conn_log_level',
  },
  limit_conn_dry_run: {
    contexts: HSL,
    args: readers.flag,
    into: 'dryRun',
    default: false,
    summary: 'Counts and logs, but does not refuse.',
    source: 'nginx ngx_http_limit_conn_module#limit_conn_dry_run',
  },
});

const DUPLICATE = 'duplicate-directive';

/** Checks that each zone is declared once, that each limit has a zone, and that no two limits have the same one. */
export function validate(
  { zones = [], limits = [] }: LimitConnConfig,
  report: ConfigReport<LimitConnConfig>,
): void {
  const bound = new Map<string, string>();
  for (const [index, { name, keyText }] of zones.entries()) {
    const before = bound.get(name);
    if (before === undefined) bound.set(name, keyText);
    else
      report.phrase('zones', `limit_conn_zone "${name}" is already bound to key "${before}"`, {
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
        hint: `declare it: limit_conn_zone key zone=${zone}:10m`,
      });
    if (used.has(zone))
      report.phrase('limits', '"limit_conn" directive is duplicate', { index, rule: DUPLICATE });
    used.add(zone);
  }
}
