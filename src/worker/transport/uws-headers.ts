import type { HttpResponse } from 'uWebSockets.js';

/** Writes headers (name, value, …), without a `Date`: uWebSockets.js has one of its own, and would send both. */
export function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'date') continue;
    res.writeHeader(name, headers[index + 1] as string);
  }
}
