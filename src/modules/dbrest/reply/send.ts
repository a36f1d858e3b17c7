import type { Exchange } from '../../../http/index.ts';
import type { DbrestFault } from '../fault/index.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** An error as every client of the contract knows it. */
export function sendFault(x: Exchange, fault: DbrestFault): void {
  x.setHeader('Proxy-Status', `gw; error=${fault.code}`);
  for (let i = 0; i + 1 < fault.headers.length; i += 2) {
    x.setHeader(fault.headers[i] as string, fault.headers[i + 1] as string);
  }
  x.send(fault.status, JSON_TYPE, fault.body);
}
