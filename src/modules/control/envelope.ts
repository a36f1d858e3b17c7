import type { Exchange } from '../../http/index.ts';

/** A flat JSON object: every value is a string. */
export type Fields = Readonly<Record<string, string>>;

/** The ok envelope. */
export function sendOk(x: Exchange, fields: Fields): void {
  x.send(200, 'application/json', JSON.stringify({ status: 'ok', ...fields }));
}

/** The error envelope. 200 tells of a thing that is not there, 4xx of a request that is wrong. */
export function sendError(x: Exchange, status: number, message: string): void {
  x.send(status, 'application/json', JSON.stringify({ status: 'error', message }));
}

export function sendText(x: Exchange, text: string): void {
  x.send(200, 'text/plain; charset=utf-8', text);
}
