import type { Build } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { Exchange, Getter, Handler } from '../../http/index.ts';
import type { Level } from '../../log/index.ts';
import { admit } from '../../zone/index.ts';
import type { Admission, RateLimit, RequestRates } from '../../zone/index.ts';
import type { LimitReqConfig, RateZoneConfig } from './config.ts';

/** A zone that is open in this worker. */
export interface OpenZone {
  readonly config: RateZoneConfig;
  readonly rates: RequestRates;
}

/** What a request is checked against: a limit without its key. */
interface CompiledLimit extends Omit<RateLimit, 'key'> {
  readonly zone: string;
  readonly keyText: string;
  readonly keyOf: (x: Exchange) => string;
}

type KeyedLimit = CompiledLimit & { readonly key: string };

const LONGEST_KEY_BYTES = 65_535;
const STATUS = Symbol('limit_req_status');

/** `$limit_req_status`: nothing as long as no limit was asked. */
export const readStatus: Getter = (x) => x.main.state(STATUS);

/** One level less severe. */
const LESS: Readonly<Record<LimitReqConfig['logLevel'], Level>> = {
  error: 'warn',
  warn: 'notice',
  notice: 'info',
  info: 'info',
};

/** Delays and refuses requests; each request is asked once, however often it is redirected (nginx). */
export function compileLimits(
  config: LimitReqConfig,
  zones: ReadonlyMap<string, OpenZone>,
  build: Build,
): Handler {
  const limits = (config.limits ?? []).map(({ zone, burst, delay }): CompiledLimit => {
    const { config: declared, rates } = zones.get(zone) as OpenZone;
    const { ratePerSecond, keyText, key } = declared;
    return { zone, keyText, rates, ratePerSecond, burst, delay, keyOf: build.value(key) };
  });
  const act = compileVerdict(config, build);
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
    return keyed.length === 0 ? undefined : act(x, admit(keyed));
  };
}

type Act = (x: Exchange, admission: Admission) => void | Promise<void>;

function compileVerdict({ status, dryRun, logLevel }: LimitReqConfig, { log }: Build): Act {
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
    } else log.write('error', `limit_req zone "${zone}" is busy`, logContext(x));
    x.main.setState(STATUS, `REJECTED${suffix}`);
    return dryRun ? undefined : x.end(status);
  };
}

/** Thousandths as a decimal number, as nginx prints them: `1.500`. */
function decimal(thousandths: number): string {
  return (thousandths / 1000).toFixed(3);
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Ends early when the client leaves. */
function delay(delayMs: number, x: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(delayMs, LONGEST_TIMER_MS));
    x.onAbort(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
