import { createHash } from 'node:crypto';
import {
  type ArgReader,
  type ComplexValue,
  constantText,
  directivesFor,
  readers,
} from '../../config/index.ts';
import {
  type Build,
  countedAs,
  type CountedLocation,
  countedLocation,
  type ModuleExplanation,
  moduleFor,
  type VariableDefinition,
} from '../../contract/index.ts';
import { type Exchange, type Getter, type Handler, logContext, stateKey, refuse } from '../../http/index.ts';
import { openRequestRates, type RequestRates, zoneIdentity } from '../../zone/index.ts';
import { take } from './window.ts';

/** `ratelimit_rate number[r/s]`, and where it was set. */
interface Rate {
  readonly requestsPerSecond: number;
  readonly counted: CountedLocation;
}

interface RateLimitConfig {
  readonly rate?: Rate;
  readonly burst?: number;
  readonly key?: ComplexValue;
  readonly cost?: ComplexValue;
  readonly skip?: ComplexValue;
}

const rate: ArgReader<Rate> = readers.oneWord('rate', ({ value, span }, scope) => {
  const [, digits = ''] = /^(\d{1,9})(?:r\/s)?$/.exec(value) ?? [];
  if (Number(digits) > 0) return { requestsPerSecond: Number(digits), counted: countedLocation(scope) };
  scope.report.emerg(`invalid rate "${value}"`, span, 'expected requests per second, such as 10r/s');
  return undefined;
});

const variable: ArgReader<ComplexValue> = readers.oneWord('variable', (word, scope) => {
  const value = scope.complexValue(word);
  if (constantText(value) === undefined) return value;
  scope.report.emerg(
    `invalid variable name "${word.value}"`,
    word.span,
    'expected a variable such as $arg_id',
  );
  return undefined;
});

const CONTEXTS = ['location'] as const;

const directives = directivesFor<RateLimitConfig>()({
  ratelimit_rate: {
    contexts: CONTEXTS,
    args: rate,
    into: 'rate',
    summary:
      'Number of requests of one client that are served within a second, as `10r/s` or `10`; further ones get 429. The second begins with the first of them. Nested locations without a rate of their own are counted together with this one.',
    source: 'nginz ratelimit#ratelimit_rate',
  },
  ratelimit_burst: {
    contexts: CONTEXTS,
    args: readers.integer({ max: 999_999_999 }),
    into: 'burst',
    defaultText: '0',
    summary: 'Number of requests that are served within a second beyond `ratelimit_rate`.',
    source: 'nginz ratelimit#ratelimit_burst',
  },
  ratelimit_key: {
    contexts: CONTEXTS,
    args: variable,
    into: 'key',
    defaultText: '$remote_addr',
    summary:
      'The key by which requests are counted. If it is empty, they are counted by the address of the client.',
    source: 'nginz ratelimit#ratelimit_key',
  },
  ratelimit_cost: {
    contexts: CONTEXTS,
    args: variable,
    into: 'cost',
    defaultText: '1',
    summary: 'The number of requests that a request counts as; 1 if the value is not a number.',
    source: 'nginz ratelimit#ratelimit_cost',
  },
  ratelimit_skip: {
    contexts: CONTEXTS,
    args: variable,
    into: 'skip',
    summary: 'Requests for which it is `1`, `true`, `yes` or `on` are neither counted nor refused.',
    source: 'nginz ratelimit#ratelimit_skip',
  },
});

/** Declared by every location with a rate; 128 bytes for each key whose second has not ended. */
const ZONE = { name: 'gw ratelimit', kind: 'request limit', sizeBytes: 4_194_304, key: 'ratelimit' } as const;
const STATUS = 429;
const LONGEST_KEY = 64;
const TRUE = /^(?:1|true|yes|on)$/i;

/** The decision on a request. */
interface Decision {
  readonly result: 'allow' | 'deny';
  readonly key: string;
  readonly source: 'ip' | 'variable';
  readonly cost: number;
  /** The location that counted the request. */
  readonly location: string;
}

const DECISION = stateKey<Decision>('ratelimit');

/** Returns the key and the limit of a request, and whether it is skipped. */
type Measure = (x: Exchange) => Omit<Decision, 'result' | 'location'> & { readonly isSkipped: boolean };

function compileMeasure({ key, cost, skip }: RateLimitConfig, build: Build): Measure {
  const address = build.variable('remote_addr');
  const [keyOf, costOf, skipOf] = [key, cost, skip].map((value) => (value ? build.value(value) : () => ''));
  return (x) => {
    const own = keyOf?.(x) ?? '';
    const costText = costOf?.(x) ?? '';
    return {
      ...(own === ''
        ? { key: address(x) ?? '', source: 'ip' as const }
        : { key: own, source: 'variable' as const }),
      cost: /^\d{1,15}$/.test(costText) ? Number(costText) : 1,
      isSkipped: TRUE.test(skipOf?.(x) ?? ''),
    };
  };
}

/** Counts each request once per location, after the access phase, so that refused requests consume no rate. */
function compileLimit(
  config: RateLimitConfig & { readonly rate: Rate },
  rates: RequestRates,
  build: Build,
): Handler {
  const { rate: own, burst = 0 } = config;
  const location = countedAs(own.counted, build.serverNames);
  const limit = own.requestsPerSecond + burst;
  const measure = compileMeasure(config, build);
  return (x) => {
    if (x.main !== x || x.state(DECISION)?.location === location) return undefined;
    const { isSkipped, ...measured } = measure(x);
    const key = `${location}${measured.source === 'ip' ? 'a' : 'k'}${shortened(measured.key)}`;
    const outcome = isSkipped ? 'allow' : take(rates, { key, cost: measured.cost, limit });
    const result = outcome === 'allow' ? 'allow' : 'deny';
    x.setState<Decision>(DECISION, { ...measured, location, result });
    if (outcome === 'allow') return undefined;
    const why = outcome === 'deny' ? `more than ${limit} in a second` : `its memory is ${outcome}`;
    build.log.write('error', `limiting requests by "ratelimit_rate": ${why}`, logContext(x));
    return refuse(x, STATUS, 'ratelimit');
  };
}

function shortened(key: string): string {
  return key.length <= LONGEST_KEY ? `:${key}` : digestOf(key);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

const explanation: ModuleExplanation<RateLimitConfig, RequestRates> = {
  runs: true,
  explain({ rate: own, burst = 0, ...more }, _rates, build) {
    const measure = compileMeasure(more, build);
    const rateText = `${own?.requestsPerSecond ?? 0}r/s, burst ${burst}`;
    return {
      precontent: (x) => {
        const { key, cost, isSkipped } = measure(x);
        const value = isSkipped ? 'skipped' : `${rateText}, counted by "${key}" as ${cost}`;
        return {
          does: `limits the rate of requests, and refuses further ones with ${STATUS}`,
          facts: [{ label: 'limit', value }],
          unknown: 'the counts',
        };
      },
    };
  },
};

const ofDecision = (summary: string, show: (decision: Decision) => string): VariableDefinition => {
  const read: Getter = ({ main }) => {
    const decision = main.state(DECISION);
    return decision && show(decision);
  };
  return { summary, live: true, compile: () => read };
};

/** Requests per client and second, shared by all workers (nginz's ratelimit module). */
export const rateLimit = moduleFor<RateLimitConfig>()<RequestRates>({
  name: 'ratelimit',
  summary: 'Limits of the number of requests in a second, as in nginz.',
  directives,
  variables: {
    ratelimit_result: ofDecision(
      '`allow` or `deny`, where `ratelimit_rate` decided.',
      ({ result }) => result,
    ),
    ratelimit_key: ofDecision('The key by which the request was counted.', ({ key }) => key),
    ratelimit_source: ofDecision(
      '`variable`: by `ratelimit_key`; `ip`: by the address.',
      ({ source }) => source,
    ),
    ratelimit_cost: ofDecision('The number of requests that it counted as.', ({ cost }) => String(cost)),
  },
  enabled: (config) => Object.values(config).some((part) => part !== undefined),
  validate({ rate: own, key, cost, skip, burst }, report) {
    if (own) return;
    const predicate = 'requires "ratelimit_rate"';
    if (key) report.on('key', predicate);
    if (cost) report.on('cost', predicate);
    if (skip) report.on('skip', predicate);
    if (burst !== undefined) report.on('burst', predicate);
  },
  zones: ({ rate: own }) => (own ? [{ zone: ZONE, field: 'rate' }] : []),
  provision: (_config, worker) => {
    const buffer = worker.zone(ZONE.name);
    return worker.share(
      `ratelimit ${zoneIdentity(buffer)}`,
      () => openRequestRates(buffer, worker.workerId),
      () => undefined,
    );
  },
  compile: (config, rates, build) =>
    config.rate ? { precontent: compileLimit({ ...config, rate: config.rate }, rates, build) } : {},
  explanation,
});
