import type { CustomFetchOptions } from 'oauth4webapi';
import { fetchText, type TextResponse, type TrustSettings } from '../../client/index.ts';

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
    // A signal of `AbortSignal.any` may be collected before it fires (Node.js 20).
    const asking = new AbortController();
    const { signal } = asking;
    const timer = setTimeout(() => asking.abort(), TIMEOUT_MS);
    try {
      const sent = body instanceof URLSearchParams ? body.toString() : undefined;
      return responseOf(
        await fetchText(url, { method, headers, body: sent, signal, mostBytes: MOST_BYTES, trust }),
      );
    } catch (error) {
      if (signal.aborted) throw new Error(`${new URL(url).host}: no response within 5 s`, { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

function responseOf({ status, headers, text }: TextResponse): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Response(status === 204 || status === 304 ? null : text, { status, headers: lines });
}
