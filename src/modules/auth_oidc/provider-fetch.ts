import type { CustomFetchOptions } from 'oauth4webapi';
import {
  fetchText,
  LateFault,
  type TextResponse,
  type TrustSettings,
  withinTime,
} from '../../client/index.ts';

/** Longest response of a provider. */
const MOST_BYTES = 1_048_576;
const TIMEOUT_MS = 5_000;

type FetchProvider = (url: string, options: CustomFetchOptions<string, unknown>) => Promise<Response>;

/**
 * Makes the function that asks a provider, in place of `fetch`: certificates are verified as configured, redirects are not
 * followed, and a response has 1 MiB and 5 s at most. Rejects with an error whose message names the host.
 */
export function providerFetch({ ca, crl }: TrustSettings): FetchProvider {
  const trust = { ...(ca !== undefined && { ca }), ...(crl !== undefined && { crl }) };
  return async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : undefined;
    const options = { method, headers, body: sent, mostBytes: MOST_BYTES, trust };
    try {
      return responseOf(
        await withinTime({ timeoutMs: TIMEOUT_MS }, (signal) => fetchText(url, { ...options, signal })),
      );
    } catch (error) {
      if (!(error instanceof LateFault)) throw error;
      throw new Error(`${new URL(url).host}: ${error.message}`, { cause: error });
    }
  };
}

function responseOf({ status, headers, text }: TextResponse): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Response(status === 204 || status === 304 ? null : text, { status, headers: lines });
}
