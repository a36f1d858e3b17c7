import { call, type CallInit, type ReceivedResponse } from '../../harness/http.ts';

/** The headers of a browser that opens a page. */
export const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' };

/** A browser with cookies: those of each port apart, which browsers would mix. */
export class Visitor {
  readonly #jars = new Map<string, Map<string, string>>();

  /** Opens a page. Redirects are not followed; `cookies` of the response are kept. */
  async open(url: string, init: CallInit = {}): Promise<ReceivedResponse> {
    const { port, pathname, search } = new URL(url);
    const jar = this.cookies(port);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...PAGE, ...(cookie !== '' && { cookie }), ...init.headers };
    const response = await call(Number(port), pathname + search, { ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/; Max-Age=0(?:;|$)/i.test(line) || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Opens a page and follows redirects, as often as `most`. Resolves with the last response and the URLs before it. */
  async follow(url: string, most = 10): Promise<ReceivedResponse & { readonly urls: readonly string[] }> {
    const urls = [url];
    for (let at = url; ;) {
      const response = await this.open(at);
      const location = response.headers.get('location');
      if (location === null || urls.length > most) return { ...response, urls };
      at = new URL(location, at).href;
      urls.push(at);
    }
  }

  /** Sends the first form of a page, with what a visitor has written into its fields, and follows redirects. */
  async submit(
    page: { readonly body: string; readonly urls: readonly string[] },
    fields: Readonly<Record<string, string>> = {},
  ): Promise<ReceivedResponse & { readonly urls: readonly string[] }> {
    const { body, urls } = page;
    const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(body) ?? [];
    const hidden = [...body.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const sent = new URLSearchParams(
      hidden.map(([, name = '', value = '']): [string, string] => [name, value]),
    );
    for (const [name, value] of Object.entries(fields)) sent.set(name, value);
    const url = new URL(action, urls.at(-1)).href;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await this.open(url, { method: 'POST', headers, body: sent.toString() });
    const location = response.headers.get('location');
    return location === null ? { ...response, urls: [url] } : this.follow(new URL(location, url).href);
  }

  /** The cookies for a port, by name. */
  cookies(port: string | number): Map<string, string> {
    const jar = this.#jars.get(String(port)) ?? new Map<string, string>();
    this.#jars.set(String(port), jar);
    return jar;
  }
}
