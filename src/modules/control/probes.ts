import type { Exchange } from '../../http/index.ts';
import type { Endpoint } from './endpoint.ts';

/** draft-inadarei-api-health-check: a list per component. */
interface Health {
  readonly status: 'pass' | 'fail';
  readonly checks: Readonly<Record<string, readonly CheckResult[]>>;
}

interface CheckResult {
  readonly status: 'pass' | 'fail';
  readonly output?: string;
}

/** `/runtime/live`: a worker turns its event loop, for whoever would start the gateway again otherwise. */
export const live: Endpoint = {
  name: 'live',
  path: 'live',
  harmless: true,
  description: 'liveness: 200 as long as a worker answers',
  compile: () => (x) => sendHealth(x, { status: 'pass', checks: {} }),
};

/** `/runtime/ready`: whether requests are welcome, for load balancers. */
export const ready: Endpoint = {
  name: 'ready',
  path: 'ready',
  description: 'readiness: 503 while the gateway drains or something it needs cannot be reached',
  compile({ resources: { worker } }) {
    return async (x) => {
      const faults = await Promise.all(
        [...worker.checks].map(async ([name, check]) => [name, await check()] as const),
      );
      const isLeaving = worker.draining || worker.retiring.aborted;
      const all = [['gateway', isLeaving ? 'draining' : undefined] as const, ...faults];
      sendHealth(x, {
        status: all.every(([, fault]) => fault === undefined) ? 'pass' : 'fail',
        checks: Object.fromEntries(all.map(([name, fault]) => [name, [resultOf(fault)]])),
      });
    };
  },
};

function resultOf(fault: string | undefined): CheckResult {
  return fault === undefined ? { status: 'pass' } : { status: 'fail', output: fault };
}

function sendHealth(x: Exchange, health: Health): void {
  x.send(health.status === 'pass' ? 200 : 503, 'application/health+json', JSON.stringify(health));
}
