import { fetchText, type TextResponse } from '../../../client/index.ts';
import { readMembers } from '../../../upstream/index.ts';
import { MAX_SOURCE_BYTES, type Source, unreadable } from './source.ts';

/** Sends a GET to a source. Rejects with a `MemberFault`. */
export function askSource(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<TextResponse> {
  return fetchText(url, { headers, signal, mostBytes: MAX_SOURCE_BYTES }).catch((error: unknown) => {
    throw unreadable((error as Error).message);
  });
}

/** `dynamic_upstreams_http`: a URL that gives the body of PUT. */
export function httpSource(url: string, headers: readonly (readonly [string, string])[]): Source {
  let etag: string | undefined;
  return {
    async ask(signal) {
      const own = Object.fromEntries(headers);
      const condition = etag === undefined ? {} : { 'If-None-Match': etag };
      const response = await askSource(url, { Accept: 'application/json', ...own, ...condition }, signal);
      if (response.status === 304 && etag !== undefined) return undefined;
      if (response.status !== 200) throw unreadable(`${new URL(url).host}: status ${response.status}`);
      const members = readMembers(response.text, { allowsEmpty: true });
      etag = response.headers.etag;
      return { members };
    },
  };
}
