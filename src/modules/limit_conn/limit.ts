import type { Build } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { Exchange, Getter, Handler } from '../../http/index.ts';
import type { Entrance, OpenRequests } from '../../zone/index.ts';
import type { ConnZoneConfig, LimitConnConfig } from './config.ts';

/** A zone that is open in this worker. */
export interface OpenZone {
  readonly config: ConnZoneConfig;
  readonly requests: OpenRequests;
}

interface CompiledLimit {
  readonly zone: string;
  readonly keyText: string;
  readonly requests: OpenRequests;
  readonly maxRequests: number;
  readonly keyOf: (x: Exchange) => string;
}

/** What a request counts in until it is over. */
interface Counted {
  readonly requests: OpenRequests;
  readonly key: string;
}

const LONGEST_KEY_BYTES = 255;
const STATUS = Symbol('limit_conn_status');

/** `$limit_conn_status`: nothing as long as no limit was asked. */
export const readStatus: Getter = (x) => x.main.state(STATUS);

/** Counts requests while they are served, and refuses those beyond the limits; each request is asked once (nginx). */
export function compileLimits(
  config: LimitConnConfig,
  zones: ReadonlyMap<string, OpenZone>,
  build: Build,
): Handler {
  const limits = (config.limits ?? []).map(({ zone, maxRequests }): CompiledLimit => {
    const { config: declared, requests } = zones.get(zone) as OpenZone;
    return { zone, keyText: declared.keyText, requests, maxRequests, keyOf: build.value(declared.key) };
  });
  const refuse = compileRefusal(config, build);
  return (x) => {
    if (x.main.state(STATUS) !== undefined) return undefined;
    const counted: Counted[] = [];
    for (const { zone, keyText, requests, maxRequests, keyOf } of limits) {
      const key = keyOf(x);
      if (key === '') continue;
      if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) {
        build.log.write('error', `the value of the "${keyText}" key is more than 255 bytes`, logContext(x));
        continue;
      }
      x.main.setState(STATUS, 'PASSED');
      const entrance = requests.enter(key, maxRequests);
      if (entrance !== 'counted') {
        leave(counted);
        return refuse(x, entrance, zone);
      }
      if (counted.push({ requests, key }) === 1) x.onEnd(() => leave(counted));
    }
    return undefined;
  };
}

/** Each count once, however often it is asked to. */
function leave(counted: Counted[]): void {
  for (const { requests, key } of counted.splice(0)) requests.leave(key);
}

type Refuse = (x: Exchange, why: Exclude<Entrance, 'counted'>, zone: string) => void;

function compileRefusal({ status, dryRun, logLevel }: LimitConnConfig, { log }: Build): Refuse {
  const dry = dryRun ? ', dry run,' : '';
  return (x, why, zone) => {
    if (why === 'limited') log.write(logLevel, `limiting connections${dry} by zone "${zone}"`, logContext(x));
    else log.write('error', `limit_conn zone "${zone}" is ${why}`, logContext(x));
    x.main.setState(STATUS, dryRun ? 'REJECTED_DRY_RUN' : 'REJECTED');
    if (!dryRun) x.end(status);
  };
}
