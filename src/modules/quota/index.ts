import {
  type Build,
  compileCounter,
  type ModuleExplanation,
  moduleFor,
  type WorkerScope,
} from '../../contract/index.ts';
import { type Exchange, type Handler, type HeaderFilter, logContext, stateKey } from '../../http/index.ts';
import { openRequestRates, type RequestRates, zoneIdentity } from '../../zone/index.ts';
import { directives, isCost, type QuotaConfig, type QuotaZone, validate } from './directives.ts';
import { type Balance, type Demand, type Outcome, take } from './take.ts';

/** A zone that is open in this worker. */
interface OpenZone extends QuotaZone {
  readonly rates: RequestRates;
}

type OpenZones = ReadonlyMap<string, OpenZone>;

/** What is left for a request, by zone. A request is counted once in each, even if it is redirected. */
const BALANCES = stateKey<ReadonlyMap<string, Balance>>('quota');
const LONGEST_KEY_BYTES = 65_535;

interface CompiledQuota {
  readonly zone: OpenZone;
  readonly count: (result: 'passed' | 'refused') => void;
  readonly keyOf: (x: Exchange) => string;
  readonly costOf: ((x: Exchange) => string) | undefined;
}

function compileQuotas(
  { quotas = [] }: QuotaConfig,
  zones: OpenZones,
  build: Build,
): readonly CompiledQuota[] {
  return quotas.flatMap(({ zone: name, cost }) => {
    const zone = zones.get(name);
    if (!zone) return [];
    const count = compileCounter(build.metrics, COUNTS, { zone: name });
    return [{ zone, count, keyOf: build.value(zone.key), costOf: cost && build.value(cost) }];
  });
}

/** Counts requests after the access phase, so that refused ones cost nothing. */
function compileCount(config: QuotaConfig, zones: OpenZones, build: Build): Handler {
  const quotas = compileQuotas(config, zones, build);
  const refuse = compileRefusal(config, build);
  return (x) => {
    if (x.main !== x) return;
    const before = x.state(BALANCES);
    const asked = quotas.flatMap((quota) => {
      const demand = before?.has(quota.zone.name) ? undefined : demandOf(quota, x, build);
      return demand ? [{ demand, count: quota.count }] : [];
    });
    if (asked.length === 0) return;
    const outcome = take(
      asked.map(({ demand }) => demand),
      Date.now(),
    );
    const found = outcome.balances.map((balance) => [balance.demand.zone, balance] as const);
    x.setState(BALANCES, new Map([...(before ?? []), ...found]));
    const refusing = outcome.failed?.demand ?? outcome.refusedBy?.demand;
    for (const { demand, count } of asked) count(demand === refusing ? 'refused' : 'passed');
    if (refusing) refuse(x, outcome);
  };
}

const COUNTS = { name: 'gw_quota_total', help: 'Requests that quotas have counted or refused.' };

/** What a request asks of a quota; `undefined` where its key is empty. */
function demandOf({ zone, keyOf, costOf }: CompiledQuota, x: Exchange, { log }: Build): Demand | undefined {
  const key = keyOf(x);
  if (key === '') return undefined;
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) {
    log.write('error', `the value of the "${zone.keyText}" key is more than 65535 bytes`, logContext(x));
    return undefined;
  }
  const costText = costOf?.(x) ?? '1';
  const isRight = isCost(costText);
  if (!isRight)
    log.write(
      'warn',
      `the cost "${costText}" for quota "${zone.name}" is no number up to 1000000: 1`,
      logContext(x),
    );
  const { name, rates, limit, window } = zone;
  return { zone: name, rates, key, limit, window, cost: isRight ? Number(costText) : 1 };
}

function compileRefusal(
  { status, dryRun }: QuotaConfig,
  { log }: Build,
): (x: Exchange, outcome: Outcome) => void {
  const dry = dryRun ? ', dry run' : '';
  return (x, { refusedBy, failed }) => {
    if (failed) {
      const why = failed.why === 'busy' ? 'is busy' : 'has no room for the key';
      log.write('error', `quota zone "${failed.demand.zone}" ${why}${dry}`, logContext(x));
    } else if (refusedBy) {
      const { zone, limit, window } = refusedBy.demand;
      log.write('error', `quota exceeded${dry}: ${limit} in a ${window}, by zone "${zone}"`, logContext(x));
    }
    if (dryRun) return;
    x.response.replaceHeader('Retry-After', String(refusedBy ? secondsLeft(refusedBy) : 1));
    x.end(status);
  };
}

/** Seconds until the window ends, at least one. */
function secondsLeft({ period: { endMs } }: Balance): number {
  return Math.max(1, Math.ceil((endMs - Date.now()) / 1_000));
}

/** Adds the headers that tell what is left (draft-ietf-httpapi-ratelimit-headers-11). */
const tellBalances: HeaderFilter = (x) => {
  const balances = x.main === x ? x.state(BALANCES) : undefined;
  if (!balances || balances.size === 0) return;
  const all = [...balances.values()];
  const policies = all.map(({ demand: { zone, limit }, period: { startMs, endMs } }) => {
    return `"${zone}";q=${limit};w=${(endMs - startMs) / 1_000}`;
  });
  const limits = all.map((balance) => `"${balance.demand.zone}";r=${balance.left};t=${secondsLeft(balance)}`);
  x.response.replaceHeader('RateLimit-Policy', policies.join(', '));
  x.response.replaceHeader('RateLimit', limits.join(', '));
};

/** The counts exist in a running gateway only; the explanation shows the quotas and the keys. */
const explanation: ModuleExplanation<QuotaConfig, OpenZones> = {
  runs: true,
  explain: (config, zones, build) => {
    const quotas = compileQuotas(config, zones, build);
    return {
      precontent: (x) => ({
        does: `counts the request in its quotas, and refuses further ones with ${config.status}`,
        facts: quotas.map(({ zone: { name, limit, window }, keyOf }) => {
          const key = keyOf(x);
          const counted = key === '' ? 'not counted, since its key is empty' : `counted by "${key}"`;
          return { label: 'quota', value: `"${name}", ${limit} in a ${window}: ${counted}` };
        }),
        unknown: 'the counts',
      }),
    };
  },
};

/** Quotas: so many requests for each key in fixed windows, shared by all workers. */
export const quota = moduleFor<QuotaConfig>()<OpenZones>({
  name: 'quota',
  summary: 'Quotas of requests by key: in a day, a month.',
  directives,
  enabled: ({ quotas, zones }) => quotas !== undefined || zones !== undefined,
  validate,
  zones: ({ zones = [] }) =>
    zones.map(({ name, sizeBytes, keyText, window }, index) => ({
      zone: { name: memoryName(name), kind: 'request limit', sizeBytes, key: `quota ${window} ${keyText}` },
      field: 'zones',
      index,
    })),
  provision: openZones,
  compile: (config, zones, build) =>
    config.quotas
      ? { precontent: compileCount(config, zones, build), ...(config.headers && { filter: tellBalances }) }
      : {},
  explanation,
});

/** `limit_req_zone` may have a zone of the same name. */
function memoryName(zone: string): string {
  return `quota: ${zone}`;
}

/** Opens the zones that the quotas of a location count in. */
function openZones({ zones = [], quotas = [] }: QuotaConfig, worker: WorkerScope): OpenZones {
  const used = zones.filter(({ name }) => quotas.some(({ zone }) => zone === name));
  return new Map(
    used.map((zone) => {
      const buffer = worker.zone(memoryName(zone.name));
      const rates = worker.share(
        `quota ${zone.name} ${zoneIdentity(buffer)}`,
        () => openRequestRates(buffer, worker.workerId),
        () => undefined,
      );
      return [zone.name, { ...zone, rates }];
    }),
  );
}
