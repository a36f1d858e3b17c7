import type { Exchange } from '../../../http/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import { contentRange } from './content-range.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Rows as the database built them. `profile` names the schema when there are several. */
export interface RowsReply {
  readonly json: string;
  readonly rows: number;
  readonly offset: number;
  readonly profile: string | undefined;
}

export function sendRows(x: Exchange, { json, rows, offset, profile }: RowsReply): void {
  x.setHeader('Content-Range', contentRange(offset, rows));
  x.setHeader('Range-Unit', 'items');
  if (profile !== undefined) x.setHeader('Content-Profile', profile);
  x.send(200, JSON_TYPE, json);
}

export function sendFault(x: Exchange, fault: DbrestFault): void {
  x.setHeader('Proxy-Status', `gw; error=${fault.code}`);
  for (let i = 0; i + 1 < fault.headers.length; i += 2) {
    x.setHeader(fault.headers[i] as string, fault.headers[i + 1] as string);
  }
  x.send(fault.status, JSON_TYPE, fault.body);
}
