import { type Build, compileCounter } from '../../contract/index.ts';
import {
  addBalances,
  type Exchange,
  type Handler,
  logContext,
  secondsUntilWhole,
  stateKey,
  refuse,
} from '../../http/index.ts';
import { escapeDefault } from '../../log/index.ts';
import { isCost, type QuotaConfig } from './directives.ts';
import { type Balance, type Demand, type Outcome, take } from './take.ts';
import { type AnyDemand, takeShared } from './take-shared.ts';
import type { OpenZone, OpenZones } from './zones.ts';

/** The zones that have counted a request: once in each, even if it is redirected. */
const COUNTED = stateKey<ReadonlySet<string>>('quota');
const LONGEST_KEY_BYTES = 65_535;
const COUNTS = { name: 'gw_quota_total', help: 'Requests that quotas have counted or refused.' };

/** A quota of a location. */
interface CompiledQuota {
  readonly zone: OpenZone;
  readonly count: (result: 'passed' | 'refused' | 'dry_run' | 'failed') => void;
  readonly keyOf: (x: Exchange) => string;
  readonly costOf: ((x: Exchange) => string) | undefined;
}

export function compileQuotas(
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

interface Asked {
  readonly demand: AnyDemand;
  readonly count: CompiledQuota['count'];
}

/** Counts requests after the access phase, so that refused ones cost nothing. */
export function compileCount(config: QuotaConfig, zones: OpenZones, build: Build): Handler {
  const quotas = compileQuotas(config, zones, build);
  const refuse = compileRefusal(config, build);
  const refusal = config.dryRun ? 'dry_run' : 'refused';
  const act = (x: Exchange, asked: readonly Asked[], outcome: Outcome): void => {
    // The client may have left meanwhile.
    if (x.aborted) return;
    if (config.headers) addBalances(x, outcome.balances.map(shown));
    const refusing = outcome.failed?.demand ?? outcome.refusedBy?.demand;
    for (const { demand, count } of asked) {
      // What one quota refuses, no other one counts.
      if (!refusing) count('passed');
      else if (refusing.zone === demand.zone) count(outcome.failed ? 'failed' : refusal);
    }
    if (refusing) refuse(x, outcome);
  };
  const isShared = quotas.some(({ zone }) => zone.shared);
  return (x) => {
    if (x.main !== x) return undefined;
    const before = x.state(COUNTED);
    const asked = quotas.flatMap((quota) => {
      const demand = before?.has(quota.zone.name) ? undefined : demandOf(quota, x, build);
      return demand ? [{ demand, count: quota.count }] : [];
    });
    if (asked.length === 0) return undefined;
    x.setState(COUNTED, new Set([...(before ?? []), ...asked.map(({ demand }) => demand.zone)]));
    const demands = asked.map(({ demand }) => demand);
    if (isShared) return takeShared(demands, Date.now()).then((outcome) => act(x, asked, outcome));
    return act(x, asked, take(demands, Date.now()));
  };
}

function shown({ demand: { zone, limit }, left, period: { startMs, endMs } }: Balance) {
  return { name: zone, limit, left, windowSeconds: (endMs - startMs) / 1_000, wholeMs: endMs };
}

/** What a request asks of a quota; `undefined` where its key is empty. */
function demandOf(
  { zone, keyOf, costOf }: CompiledQuota,
  x: Exchange,
  { log }: Build,
): AnyDemand | undefined {
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
  const { name, rates, limit, window, dropped, shared } = zone;
  const cost = isRight ? Number(costText) : 1;
  return { zone: name, rates, key, limit, window, cost, dropped, ...(shared && { shared }) };
}

const WHY = {
  busy: 'is busy',
  full: 'has no room for the key',
  lost: 'gets no response from the store of the cluster',
};

/** Keys that name who makes a request, and open nothing. Others may be keys, cookies or addresses. */
const NAMING =
  /^\$(?:(?:api_key_id|jwt_claim_sub|oidc_claim_\w+)|\{(?:api_key_id|jwt_claim_sub|oidc_claim_\w+)\})$/i;
const LONGEST_SHOWN = 64;

function compileRefusal(
  { status, dryRun, zones = [] }: QuotaConfig,
  { log }: Build,
): (x: Exchange, outcome: Outcome) => void {
  const dry = dryRun ? ', dry run' : '';
  const naming = new Set(zones.filter(({ keyText }) => NAMING.test(keyText)).map(({ name }) => name));
  const whose = ({ zone, key }: Demand): string =>
    naming.has(zone) ? `, key "${escapeDefault(key.slice(0, LONGEST_SHOWN))}"` : '';
  return (x, { refusedBy, failed }) => {
    if (failed) {
      log.write('error', `quota zone "${failed.demand.zone}" ${WHY[failed.why]}${dry}`, logContext(x));
    } else if (refusedBy) {
      const { zone, limit, window } = refusedBy.demand;
      const text = `quota exceeded${dry}: ${limit} in a ${window}, by zone "${zone}"${whose(refusedBy.demand)}`;
      log.write('error', text, logContext(x));
    }
    if (dryRun) return;
    x.response.replaceHeader('Retry-After', String(refusedBy ? secondsUntilWhole(shown(refusedBy)) : 1));
    refuse(x, status, 'quota');
  };
}
