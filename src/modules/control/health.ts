import { randomBytes } from 'node:crypto';
import type { Exchange } from '../../http/index.ts';
import { VERSION } from '../../version.ts';
import { type Dictionary, DictionaryFault } from '../../zone/index.ts';
import { ControlFault, type Endpoint, readQuery, required, sendError, sendOk } from './endpoint.ts';
import type { ControlResources } from './resources.ts';

/** `/runtime/health`: 200 while new requests are accepted. */
export const health: Endpoint = {
  name: 'health',
  path: 'health',
  harmless: true,
  isProbe: true,
  description: 'health of the gateway: uptime, workers and configuration; 503 while it drains',
  compile({ resources: { worker } }) {
    const facts = {
      service: 'control_api',
      workers: String(worker.workers),
      config_generation: String(worker.generation),
    };
    return (x) => {
      if (worker.draining) return sendError(x, 503, 'draining');
      return sendOk(x, { ...facts, uptime_s: String(Math.floor(process.uptime())) });
    };
  },
};

/** draft-inadarei-api-health-check: a list per component. */
interface Health {
  readonly status: CheckResult['status'];
  readonly checks: Readonly<Record<string, readonly CheckResult[]>>;
}

interface CheckResult {
  /** `warn`: the check fails, but the gateway serves without what it is about. */
  readonly status: 'pass' | 'warn' | 'fail';
  readonly output?: string;
}

/** `/runtime/live`: 200 while the event loop of a worker runs. For orchestrators that restart a gateway. */
export const live: Endpoint = {
  name: 'live',
  path: 'live',
  harmless: true,
  isProbe: true,
  description: 'liveness: 200 as long as a worker answers',
  compile: () => (x) => sendHealth(x, { status: 'pass', checks: {} }),
};

/** `/runtime/ready`: 503 while the gateway drains or a check fails that is not optional. For load balancers. */
export const ready: Endpoint = {
  name: 'ready',
  path: 'ready',
  isProbe: true,
  description: 'readiness: 503 while the gateway drains or something that it needs cannot be reached',
  compile({ config: { readyOptional = [] }, resources: { worker } }) {
    const isOptional = compileNames(readyOptional);
    worker.onServing(() => tellUnknown(readyOptional, worker));
    return async (x) => {
      const faults = await Promise.all(
        [...worker.checks].map(async ([name, check]) => [name, await check()] as const),
      );
      const all = [['gateway', worker.draining ? 'draining' : undefined] as const, ...faults];
      const results = all.map(([name, fault]) => [name, resultOf(fault, isOptional(name))] as const);
      sendHealth(x, {
        status: worstOf(results.map(([, { status }]) => status)),
        checks: Object.fromEntries(results.map(([name, result]) => [name, [result]])),
      });
    };
  },
};

/** Compiles a list of names of checks; one that ends with `*` stands for all that begin like it. */
function compileNames(names: readonly string[]): (check: string) => boolean {
  const exact = new Set(names);
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (check) => exact.has(check) || prefixes.some((prefix) => check.startsWith(prefix));
}

/** Warns of names that no check has: a typing error would leave a check required. */
function tellUnknown(names: readonly string[], { checks, log, isFirst }: ControlResources['worker']): void {
  if (!isFirst) return;
  for (const name of names) {
    if ([...checks.keys()].some(compileNames([name]))) continue;
    const known = [...checks.keys()].map((check) => `"${check}"`).join(', ') || 'none';
    log.write('warn', `"control_ready_optional": there is no check "${name}"; the checks are ${known}`);
  }
}

function resultOf(fault: string | undefined, isOptional: boolean): CheckResult {
  return fault === undefined ? { status: 'pass' } : { status: isOptional ? 'warn' : 'fail', output: fault };
}

function worstOf(statuses: readonly CheckResult['status'][]): CheckResult['status'] {
  if (statuses.includes('fail')) return 'fail';
  return statuses.includes('warn') ? 'warn' : 'pass';
}

function sendHealth(x: Exchange, health: Health): void {
  x.send(health.status === 'fail' ? 503 : 200, 'application/health+json', JSON.stringify(health));
}

/** Expiry of the probe's entry, in case this thread dies before it has removed it. */
const SENTINEL_TTL_MS = 1_000;

/** `/runtime/cache/probe`: tests whether a dictionary can be written and read. */
export const cacheProbe: Endpoint = probe('cache_probe', {
  what: 'cache',
  subject: 'shared dict',
  fields: (dict) => ({ dict }),
});

/** `/runtime/session/probe`: the same for the dictionary of sessions. */
export const sessionProbe: Endpoint = probe('session_probe', {
  what: 'session',
  subject: 'session dict',
  fields: (dict) => ({ dict, session_dict: dict }),
});

interface Probe {
  readonly what: string;
  readonly subject: string;
  fields(dict: string): Record<string, string>;
}

function probe(name: string, { what, subject, fields }: Probe): Endpoint {
  return {
    name,
    path: `${what}/probe`,
    description: `whether the ${what} dictionary ?dict= can be written and read`,
    writes: true,
    compile: ({ resources: { dictionaries } }) => {
      // Other gateways may probe the same dictionary.
      const prober = randomBytes(6).toString('hex');
      let count = 0;
      return (x) => {
        const dict = required(readQuery(x.args), 'dict');
        const sentinel = `gw probe ${prober} ${++count}`;
        if (!isReachable(dictionaries.get(dict), sentinel)) {
          throw new ControlFault(200, `${subject} not reachable: ${dict}`);
        }
        sendOk(x, { ...fields(dict), reachable: 'true' });
      };
    },
  };
}

function isReachable(dictionary: Dictionary | undefined, sentinel: string): boolean {
  try {
    dictionary?.set(sentinel, sentinel, SENTINEL_TTL_MS);
    return dictionary?.get(sentinel) === sentinel && dictionary.delete(sentinel);
  } catch (error) {
    if (error instanceof DictionaryFault) return false;
    throw error;
  }
}

/** `/runtime/system`: version, time and process of the gateway. */
export const system: Endpoint = {
  name: 'system',
  path: 'system',
  description: 'version, time, Node.js version and process id',
  compile: () => (x) => {
    const nowMs = Date.now();
    sendOk(x, {
      module: 'control_api',
      version: VERSION,
      timestamp: String(nowMs),
      now_ms: String(nowMs),
      time: new Date(nowMs).toISOString(),
      node: process.versions.node,
      pid: String(process.pid),
    });
  },
};
