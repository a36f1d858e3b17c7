import { createHash } from 'node:crypto';
import { type Build, type ModuleExplanation, moduleFor, type WorkerScope } from '../../contract/index.ts';
import {
  addBalances,
  type Exchange,
  type Getter,
  type Handler,
  logContext,
  secondsUntilWhole,
  stateKey,
  tellBalances,
  timedSpan,
  refuse,
} from '../../http/index.ts';
import type { Level } from '../../log/index.ts';
import { openRequestRates, type RequestRates, zoneIdentity } from '../../zone/index.ts';
import {
  directives,
  type LimitReqConfig,
  type RateZoneConfig,
  validate,
  type ZoneSharing,
} from './directives.ts';
import { balanceOf } from './balance.ts';
import { type Admission, admit, type Fill, REQUEST } from './leaky-bucket.ts';
import { admitShared, type AnyLimit, type SharedZone } from './shared.ts';

/** A zone that is open in this worker. */
interface OpenZone {
  readonly config: RateZoneConfig;
  readonly rates: RequestRates;
  readonly shared?: SharedZone;
  /** In an explanation: the cluster whose gateways share the zone. */
  readonly sharedIn?: string | undefined;
}

/** A limit that requests are checked against, without the key of a request. */
interface CompiledLimit extends Omit<AnyLimit, 'key'> {
  readonly keyText: string;
  readonly keyOf: (x: Exchange) => string;
}

type KeyedLimit = CompiledLimit & { readonly key: string };

const LONGEST_KEY_BYTES = 65_535;
/** `sync` of nginx Plus, which names no cluster. */
const ONLY_CLUSTER = { kind: 'only cluster', name: 'sync' } as const;
const STATUS = stateKey<string>('limit_req_status');

/** `$limit_req_status`: empty if no limit was checked. */
const readStatus: Getter = (x) => x.main.state(STATUS);

/** The next lower level. */
const LESS: Readonly<Record<LimitReqConfig['logLevel'], Level>> = {
  error: 'warn',
  warn: 'notice',
  notice: 'info',
  info: 'info',
};

/** Delays and refuses requests; each request is checked once, even if it is redirected (nginx). */
function compileLimits(config: LimitReqConfig, zones: ReadonlyMap<string, OpenZone>, build: Build): Handler {
  const limits = (config.limits ?? []).map(({ zone, burst, delay }): CompiledLimit => {
    const { config: declared, ...open } = zones.get(zone) as OpenZone;
    const { milliRequestsPerSecond, keyText, key } = declared;
    return { zone, keyText, ...open, milliRequestsPerSecond, burst, delay, keyOf: build.value(key) };
  });
  const act = compileVerdict(config, build);
  const decide = compileDecision(limits, config, act);
  return (x) => {
    if (x.main.state(STATUS) !== undefined) return undefined;
    const keyed: KeyedLimit[] = [];
    for (const limit of limits) {
      const key = limit.keyOf(x);
      if (key === '') continue;
      if (key.length * 3 > LONGEST_KEY_BYTES && Buffer.byteLength(key) > LONGEST_KEY_BYTES) {
        build.log.write(
          'error',
          `the value of the "${limit.keyText}" key is more than 65535 bytes`,
          logContext(x),
        );
      } else keyed.push({ ...limit, key });
    }
    return keyed.length === 0 ? undefined : decide(x, keyed);
  };
}

/** The part of a request that waits for the store of a cluster. */
const ASK = { name: 'cluster ask', kind: 'client' } as const;

type Act = (x: Exchange, admission: Admission) => void | Promise<void>;
type Decide = (x: Exchange, limits: readonly KeyedLimit[]) => void | Promise<void>;

/** Compiles what counts a request in its limits and acts upon the result, with what to tell of them. */
function compileDecision(limits: readonly CompiledLimit[], { headers }: LimitReqConfig, act: Act): Decide {
  const tell = (x: Exchange, fills: readonly Fill[]): void => addBalances(x, fills.map(balanceOf));
  if (limits.some(({ shared }) => shared))
    return async (x, keyed) => {
      const fills: Fill[] | undefined = headers ? [] : undefined;
      const admission = await timedSpan(x, ASK, admitShared(keyed, fills));
      // The client may have left meanwhile.
      if (x.aborted) return;
      if (fills) tell(x, fills);
      await act(x, admission);
    };
  if (!headers) return (x, keyed) => act(x, admit(keyed));
  return (x, keyed) => {
    const fills: Fill[] = [];
    const admission = admit(keyed, undefined, fills);
    tell(x, fills);
    return act(x, admission);
  };
}

function compileVerdict(config: LimitReqConfig, { log }: Build): Act {
  const { status, dryRun, logLevel } = config;
  const comeAgain = compileComeAgain(config);
  const dry = dryRun ? ', dry run' : '';
  const suffix = dryRun ? '_DRY_RUN' : '';
  return (x, admission) => {
    if (admission.verdict === 'passed') return x.main.setState(STATUS, 'PASSED');
    const { zone } = admission.limit as KeyedLimit;
    if (admission.verdict === 'delayed') {
      const { delayMs, excess } = admission;
      log.write(
        LESS[logLevel],
        `delaying request${dry}, excess: ${decimal(excess)}, by zone "${zone}"`,
        logContext(x),
      );
      x.main.setState(STATUS, `DELAYED${suffix}`);
      return dryRun ? undefined : delay(delayMs, x);
    }
    if (admission.verdict === 'rejected') {
      const { excess } = admission;
      log.write(
        logLevel,
        `limiting requests${dry}, excess: ${decimal(excess)} by zone "${zone}"`,
        logContext(x),
      );
    } else if (admission.why === 'full') {
      log.write('alert', `could not allocate node in limit_req zone "${zone}"`, logContext(x));
    } else if (admission.why === 'lost') {
      const message = `limiting requests${dry}, no response from the store of the cluster, by zone "${zone}"`;
      log.write(logLevel, message, logContext(x));
    } else log.write('error', `limit_req zone "${zone}" is busy`, logContext(x));
    x.main.setState(STATUS, `REJECTED${suffix}`);
    if (dryRun) return undefined;
    comeAgain(x, admission);
    return refuse(x, status, 'limit_req');
  };
}

/** Compiles `Retry-After`: the time after which the limit is whole again. */
function compileComeAgain({ headers, status }: LimitReqConfig): (x: Exchange, refusal: Refusal) => void {
  if (!headers || !TEMPORARY.has(status)) return () => undefined;
  return (x, refusal) => {
    const seconds = refusal.verdict === 'rejected' ? secondsUntilWhole(balanceOf(refusal)) : 1;
    x.response.replaceHeader('Retry-After', String(seconds));
  };
}

type Refusal = Extract<Admission, { verdict: 'rejected' | 'failed' }>;

/** The statuses that `Retry-After` is for. */
const TEMPORARY: ReadonlySet<number> = new Set([429, 503]);

/** Formats thousandths as a decimal number, as nginx does: `1.500`. */
function decimal(thousandths: number): string {
  return (thousandths / 1000).toFixed(3);
}

/** A timer beyond this would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits; ends early if the client leaves. */
function delay(delayMs: number, x: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(delayMs, LONGEST_TIMER_MS));
    x.onAbort(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The counts exist in a running gateway only; the explanation shows the limits and the keys. */
const explanation: ModuleExplanation<LimitReqConfig, ReadonlyMap<string, OpenZone>> = {
  runs: true,
  provision: (config, scope) => {
    const [first] = scope.clusterNames;
    const told = ([name, zone]: readonly [string, OpenZone]) => {
      const { sharing } = zone.config;
      return [name, { ...zone, sharedIn: sharing && (sharing.cluster ?? first) }] as const;
    };
    return new Map([...openZones(config, scope)].map(told));
  },
  explain({ limits = [], status, dryRun }, open, build) {
    const keyed = limits.flatMap(({ zone: name, burst }) => {
      const { config: zone, sharedIn } = open.get(name) ?? {};
      return zone ? [{ zone, burst, sharedIn, key: build.value(zone.key) }] : [];
    });
    return {
      preaccess: (x) => ({
        does: `limits the rate of requests${dryRun ? ', and only logs it' : `, and refuses further ones with ${status}`}`,
        facts: keyed.map(({ zone, burst, sharedIn, key }) => {
          const rate = `${zone.milliRequestsPerSecond / REQUEST}r/s`;
          const whose = sharedIn === undefined ? '' : ` of all gateways of cluster "${sharedIn}"`;
          const counted = `counted in "${zone.name}" by ${shown(zone.keyText, key(x))}`;
          return { label: 'limit', value: `${rate}${whose}, burst ${burst / REQUEST}, ${counted}` };
        }),
        unknown: 'the counts',
      }),
    };
  },
};

function shown(text: string, value: string): string {
  const isText = /^[\x20-\x7e]*$/.test(value);
  return value === '' ? `${text}, which is empty: not limited` : isText ? `${text} = "${value}"` : text;
}

/** Limits of the request rate, shared by all workers (nginx ngx_http_limit_req_module). */
export const limitReq = moduleFor<LimitReqConfig>()<ReadonlyMap<string, OpenZone>>({
  name: 'limit_req',
  summary: 'Limits of the rate of requests.',
  directives,
  variables: {
    limit_req_status: {
      summary: 'PASSED, DELAYED, REJECTED, DELAYED_DRY_RUN or REJECTED_DRY_RUN.',
      compile: () => readStatus,
    },
  },
  enabled: ({ limits }) => limits !== undefined,
  validate,
  uses: ({ zones = [] }) =>
    zones.flatMap(({ sharing }, index) => {
      if (!sharing) return [];
      const { cluster } = sharing;
      const used = cluster === undefined ? ONLY_CLUSTER : ({ kind: 'cluster', name: cluster } as const);
      return [{ ...used, field: 'zones' as const, index }];
    }),
  zones: ({ zones = [] }) =>
    zones.map(({ name, sizeBytes, keyText }, index) => ({
      zone: { name, kind: 'request limit', sizeBytes, key: keyText },
      field: 'zones',
      index,
    })),
  provision: openZones,
  compile: (config, zones, build) => ({
    preaccess: compileLimits(config, zones, build),
    ...(config.headers && { filter: tellBalances }),
  }),
  explanation,
  rules: () => import('./rules.ts'),
});

/** Opens the zones of the limits, by name. */
function openZones(
  { zones = [], limits = [] }: LimitReqConfig,
  worker: WorkerScope,
): ReadonlyMap<string, OpenZone> {
  const used = new Set(limits.map(({ zone }) => zone));
  return new Map(
    zones.filter(({ name }) => used.has(name)).map((config) => [config.name, openZone(config, worker)]),
  );
}

/** Opens a zone once per worker. */
function openZone(config: RateZoneConfig, worker: WorkerScope): OpenZone {
  const buffer = worker.zone(config.name);
  const rates = worker.share(
    `limit_req ${zoneIdentity(buffer)}`,
    () => openRequestRates(buffer, worker.workerId),
    () => undefined,
  );
  const shared = config.sharing && shareZone(config, config.sharing, worker);
  return { config, rates, ...(shared && { shared }) };
}

/** Shares a zone with the other gateways of a cluster, if there is one. */
function shareZone(
  { name, keyText, milliRequestsPerSecond }: RateZoneConfig,
  { cluster: named, isExact }: ZoneSharing,
  worker: WorkerScope,
): SharedZone | undefined {
  const cluster = named === undefined ? [...worker.clusters.values()][0] : worker.clusters.get(named);
  if (!cluster) return undefined;
  const digest = createHash('sha256').update(`${milliRequestsPerSecond} ${keyText}`).digest('base64url');
  worker.share(
    `limit_req ${cluster.key} ${name} ${digest}`,
    () => cluster.limits.share(name, digest),
    (end) => end(),
  );
  return { cluster, isExact };
}
