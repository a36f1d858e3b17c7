import type { Gateway } from '../harness/gateway.ts';
import type { ReceivedResponse } from '../harness/http.ts';

/** POSTs a value as JSON. */
export function postedJson(gw: Gateway, path: string, body: unknown): Promise<ReceivedResponse> {
  return gw.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
