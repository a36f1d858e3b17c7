import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  constantText,
  defines,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import { type Window, WINDOWS } from './window.ts';

/** `quota_zone key zone=name:size limit=number/window [cluster=name[:exact]] [state=file]`. */
export interface QuotaZone {
  readonly name: string;
  readonly sizeBytes: number;
  readonly key: ComplexValue;
  /** As it was written. */
  readonly keyText: string;
  readonly limit: number;
  readonly window: Window;
  /** Absent: each gateway counts for itself. */
  readonly sharing?: QuotaSharing;
  /** The file that keeps the counts, as written. */
  readonly state?: string;
}

/** The gateways of a cluster count together. */
export interface QuotaSharing {
  readonly cluster: string;
  /** The store is asked for every request, instead of once for several (a lease). */
  readonly isExact: boolean;
}

/** `quota zone=name [cost=value]`. */
interface Quota {
  readonly zone: string;
  readonly cost?: ComplexValue;
}

/** The quotas of one location. */
export interface QuotaConfig {
  readonly zones?: readonly QuotaZone[];
  readonly quotas?: readonly Quota[];
  readonly status: number;
  readonly dryRun: boolean;
  readonly headers: boolean;
}

const HSL = ['http', 'server', 'location'] as const;
const MOST = 1_000_000_000_000;

type ZoneParts = Partial<Omit<QuotaZone, 'key' | 'keyText'>>;

const zone: ArgReader<QuotaZone> = readers.words(
  {
    syntax: 'key zone=name:size limit=number/window [cluster=name[:exact]] [state=file]',
    min: 3,
    max: 5,
  },
  ([key, ...parameters], scope) => {
    let read: ZoneParts = {};
    for (const word of parameters) {
      const part = readPart(word, scope);
      if (!part) return undefined;
      read = { ...read, ...part };
    }
    const { name, sizeBytes, limit, window, ...more } = read;
    if (name !== undefined && sizeBytes !== undefined && limit !== undefined && window !== undefined) {
      const { value: keyText } = key as Word;
      return { ...more, name, sizeBytes, limit, window, key: scope.complexValue(key as Word), keyText };
    }
    const missing = name === undefined ? 'zone' : 'limit';
    scope.report.emerg(`"${scope.directive}" must have "${missing}" parameter`, scope.span);
    return undefined;
  },
);

function readPart(word: Word, scope: ReadScope): ZoneParts | undefined {
  const { value } = word;
  if (value.startsWith('zone=')) return readers.readZone(word, scope);
  const [, cluster, exact] = /^cluster=([^:]+)(:exact)?$/s.exec(value) ?? [];
  if (cluster !== undefined) return { sharing: { cluster, isExact: exact !== undefined } };
  const [, state] = /^state=(.+)$/s.exec(value) ?? [];
  return state === undefined ? readLimit(word, scope) : { state };
}

function readLimit(
  { value, span }: Word,
  { report }: ReadScope,
): Pick<QuotaZone, 'limit' | 'window'> | undefined {
  const [, digits = '', name = ''] = /^limit=(\d{1,13})\/([a-z]+)$/.exec(value) ?? [];
  const window = WINDOWS.find((each) => each === name);
  const limit = Number(digits);
  if (window && limit > 0 && limit <= MOST) return { limit, window };
  const windows = WINDOWS.join(', ');
  report.emerg(`invalid parameter "${value}"`, span, `expected limit=10000/day; windows are ${windows}`);
  return undefined;
}

const quota: ArgReader<Quota> = readers.words(
  { syntax: 'zone=name [cost=value]', min: 1, max: 2 },
  (words, scope) => {
    let name = '';
    let cost: ComplexValue | undefined;
    for (const word of words) {
      const [, parameter, value = ''] = /^(zone|cost)=(.+)$/.exec(word.value) ?? [];
      if (parameter === 'zone') name = value;
      else if (parameter === 'cost') cost = scope.complexValue({ ...word, value });
      else {
        scope.report.emerg(`invalid parameter "${word.value}"`, word.span);
        return undefined;
      }
    }
    const fixed = cost && constantText(cost);
    const [first] = words as [Word];
    if (name === '') scope.report.emerg(`"${scope.directive}" must have "zone" parameter`, first.span);
    else if (fixed !== undefined && !isCost(fixed))
      scope.report.emerg(`invalid cost "${fixed}"`, first.span, `expected 0 to ${MOST_COST}`);
    else return { zone: name, ...(cost && { cost }) };
    return undefined;
  },
);

const MOST_COST = 1_000_000;

/** True for the number of requests that a request may count as. */
export function isCost(text: string): boolean {
  return /^\d{1,7}$/.test(text) && Number(text) <= MOST_COST;
}

/** Any word but the first may give the name of a cluster. */
const CLUSTER_NAMES = [1, 2, 3, 4].flatMap((word) =>
  uses('cluster', { word, behind: ['cluster='], until: ':' }),
);

export const directives = directivesFor<QuotaConfig>()({
  quota_zone: {
    contexts: ['http'],
    args: zone,
    into: 'zones',
    repeat: 'append',
    summary:
      'A quota for each value of the key: so many requests in each second, minute, hour, day, week (from Monday) or month, in UTC. Requests with an empty key are not counted. A full zone forgets the key that has not been seen for longest. With `cluster` the quota is that of all gateways together; each takes a two-hundredth part of it ahead at most, or with `:exact` nothing. `state` is a file that keeps the counts over restarts, relative to the prefix.',
    roles: [...defines('request zone', AT.zone), ...CLUSTER_NAMES],
    source: 'gw',
  },
  quota: {
    contexts: HSL,
    args: quota,
    into: 'quotas',
    repeat: 'append',
    summary:
      'Counts requests in a quota, and refuses those beyond it; they are not counted. `cost` is what a request counts as, 1 unless it is a number up to 1000000.',
    roles: uses('request zone', AT.zone),
    source: 'gw',
  },
  quota_status: {
    contexts: HSL,
    args: readers.refusalStatus,
    into: 'status',
    default: 429,
    summary: 'Status of requests beyond a quota.',
    source: 'gw',
  },
  quota_dry_run: {
    contexts: HSL,
    args: readers.flag,
    into: 'dryRun',
    default: false,
    summary: 'Whether requests beyond a quota are only logged.',
    source: 'gw',
  },
  quota_headers: {
    contexts: HSL,
    args: readers.flag,
    into: 'headers',
    default: true,
    summary: 'Whether responses tell what is left, in `RateLimit-Policy` and `RateLimit`.',
    source: 'gw',
  },
});

const DUPLICATE = 'duplicate-directive';

export function validate({ zones = [], quotas = [] }: QuotaConfig, report: ConfigReport<QuotaConfig>): void {
  const bound = new Map<string, string>();
  for (const [index, { name, keyText }] of zones.entries()) {
    const before = bound.get(name);
    const message = `quota_zone "${name}" is already bound to key "${before}"`;
    if (before === undefined) bound.set(name, keyText);
    else report.phrase('zones', message, { index, rule: DUPLICATE });
  }
  const used = new Set<string>();
  for (const [index, { zone }] of quotas.entries()) {
    if (!bound.has(zone))
      report.phrase('quotas', `zero size shared memory zone "${zone}"`, {
        index,
        rule: 'bad-reference',
        hint: `declare it: quota_zone key zone=${zone}:10m limit=10000/day`,
      });
    if (used.has(zone)) report.phrase('quotas', '"quota" directive is duplicate', { index, rule: DUPLICATE });
    used.add(zone);
  }
}
