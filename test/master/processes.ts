import { readFileSync } from 'node:fs';
import {
  type Gateway,
  type GatewayOptions,
  type HttpConf,
  type Owner,
  startGateway,
} from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';

/** A gateway with all of its processes. */
export function startSupervised(t: Owner, http: HttpConf, options: GatewayOptions = {}): Promise<Gateway> {
  return startGateway(t, http, { supervised: true, ...options });
}

/**
 * A gateway for several tests, which leave its processes as they found them: the first that calls this starts it. A test
 * reads the error log from where it began.
 */
export function sharedSupervised(
  http: HttpConf,
  options: GatewayOptions = {},
): (t: Owner) => Promise<Gateway> {
  const file = wholeFile();
  let shared: Gateway | undefined;
  return async (t) => {
    // The next test must not inherit a broken gateway.
    t.onTestFailed?.(() => (shared = undefined));
    return (shared ??= await startSupervised(file, http, options));
  };
}

/** The process that holds the workers: the last one that the error log names as the master. */
export function masterPid(gw: Gateway): number {
  const found = [...gw.errorLog().matchAll(/\[notice\] (\d+)#0: start worker processes/g)].at(-1);
  return Number(found?.[1]);
}

/** Also false for a process that waits to be reaped. */
export function isAlive(pid: number): boolean {
  try {
    // pid (name) state …; the name may contain blanks and brackets (proc(5)).
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
