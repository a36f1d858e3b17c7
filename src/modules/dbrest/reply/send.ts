import type { Exchange } from '../../../http/index.ts';
import type { DbrestFault } from '../fault/index.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** An error as every client of the contract knows it; `minimal` keeps what it knows of the database to itself. */
export function sendFault(x: Exchange, fault: DbrestFault, verbosity: 'verbose' | 'minimal'): void {
  x.setHeader('Proxy-Status', `gw; error=${fault.code}`);
  for (let i = 0; i + 1 < fault.headers.length; i += 2) {
    x.setHeader(fault.headers[i] as string, fault.headers[i + 1] as string);
  }
  if (fault.reason !== undefined) x.setReason(fault.reason);
  x.send(fault.status, JSON_TYPE, fault.body(verbosity));
}
