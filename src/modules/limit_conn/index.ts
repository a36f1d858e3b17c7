import { type Build, type ModuleExplanation, moduleFor, type WorkerScope } from '../../contract/index.ts';
import { type Exchange, type Getter, type Handler, logContext, stateKey, refuse } from '../../http/index.ts';
import { type EntryOutcome, openOpenRequests, type OpenRequests, zoneIdentity } from '../../zone/index.ts';
import { type ConnZoneConfig, directives, type LimitConnConfig, validate } from './directives.ts';

/** A zone that is open in this worker. */
interface OpenZone {
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

/** A count that a request is included in until it ends. */
interface ActiveCount {
  readonly requests: OpenRequests;
  readonly key: string;
}

const LONGEST_KEY_BYTES = 255;
const STATUS = stateKey<string>('limit_conn_status');

/** `$limit_conn_status`: empty if no limit was checked. */
const readStatus: Getter = (x) => x.main.state(STATUS);

/** Counts active requests and refuses those beyond the limits; each request is checked once (nginx). */
function compileLimits(config: LimitConnConfig, zones: ReadonlyMap<string, OpenZone>, build: Build): Handler {
  const limits = (config.limits ?? []).map(({ zone, maxRequests }): CompiledLimit => {
    const { config: declared, requests } = zones.get(zone) as OpenZone;
    return { zone, keyText: declared.keyText, requests, maxRequests, keyOf: build.value(declared.key) };
  });
  const refuse = compileRefusal(config, build);
  return (x) => {
    if (x.main.state(STATUS) !== undefined) return undefined;
    const counted: ActiveCount[] = [];
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

/** Ends the counts; a second call has no effect. */
function leave(counted: ActiveCount[]): void {
  for (const { requests, key } of counted.splice(0)) requests.leave(key);
}

type Refuse = (x: Exchange, why: Exclude<EntryOutcome, 'counted'>, zone: string) => void;

function compileRefusal({ status, dryRun, logLevel }: LimitConnConfig, { log }: Build): Refuse {
  const dry = dryRun ? ', dry run,' : '';
  return (x, why, zone) => {
    if (why === 'limited') log.write(logLevel, `limiting connections${dry} by zone "${zone}"`, logContext(x));
    else log.write('error', `limit_conn zone "${zone}" is ${why}`, logContext(x));
    x.main.setState(STATUS, dryRun ? 'REJECTED_DRY_RUN' : 'REJECTED');
    if (!dryRun) refuse(x, status, 'limit_conn');
  };
}

/** The counts exist in a running gateway only; the explanation shows the limits and the keys. */
const explanation: ModuleExplanation<LimitConnConfig, ReadonlyMap<string, OpenZone>> = {
  runs: true,
  explain({ limits = [], zones = [], status, dryRun }, _open, build) {
    const keyed = limits.flatMap(({ zone: name, maxRequests }) => {
      const zone = zones.find((each) => each.name === name);
      return zone ? [{ zone, maxRequests, key: build.value(zone.key) }] : [];
    });
    return {
      preaccess: (x) => ({
        does: `limits simultaneous requests${dryRun ? ', and only logs it' : `, and refuses further ones with ${status}`}`,
        facts: keyed.map(({ zone, maxRequests, key }) => ({
          label: 'limit',
          value: `${maxRequests} simultaneous, counted in "${zone.name}" by ${shown(zone.keyText, key(x))}`,
        })),
        unknown: 'the counts',
      }),
    };
  },
};

function shown(text: string, value: string): string {
  const isText = /^[\x20-\x7e]*$/.test(value);
  return value === '' ? `${text}, which is empty: not limited` : isText ? `${text} = "${value}"` : text;
}

/** Limits of simultaneous requests, shared by all workers (nginx ngx_http_limit_conn_module). */
export const limitConn = moduleFor<LimitConnConfig>()<ReadonlyMap<string, OpenZone>>({
  name: 'limit_conn',
  summary: 'Limits of the number of connections.',
  directives,
  variables: {
    limit_conn_status: {
      summary: 'PASSED, REJECTED or REJECTED_DRY_RUN.',
      compile: () => readStatus,
    },
  },
  enabled: ({ limits }) => limits !== undefined,
  validate,
  zones: ({ zones = [] }) =>
    zones.map(({ name, sizeBytes, keyText }, index) => ({
      zone: { name, kind: 'connection limit', sizeBytes, key: keyText },
      field: 'zones',
      index,
    })),
  provision: ({ zones = [], limits = [] }, worker) => {
    const used = new Set(limits.map(({ zone }) => zone));
    return new Map(
      zones
        .filter(({ name }) => used.has(name))
        .map((config) => [config.name, { config, requests: openZone(config.name, worker) }]),
    );
  },
  compile: (config, zones, build) => ({ preaccess: compileLimits(config, zones, build) }),
  explanation,
});

/** Opens a zone once per worker. */
function openZone(name: string, worker: WorkerScope): OpenZone['requests'] {
  const buffer = worker.zone(name);
  return worker.share(
    `limit_conn ${zoneIdentity(buffer)}`,
    () => openOpenRequests(buffer, worker.workerId),
    () => undefined,
  );
}
