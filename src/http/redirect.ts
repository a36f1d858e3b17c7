import type { RequestFacts } from './request-facts.ts';

/** The parts of an absolute redirect that the configuration controls. */
export interface RedirectRules {
  /** False: the `Location` is a path only (`absolute_redirect off`). */
  readonly isAbsolute: boolean;
  /** Uses the server's first name instead of the request's host (`server_name_in_redirect`). */
  readonly byServerName: boolean;
  readonly withPort: boolean;
}

/** The parts of an exchange that a redirect needs. */
interface RedirectedRequest {
  readonly request: RequestFacts;
  readonly serverName: string;
}

/** Returns the value of `Location`: scheme, host and port are added to a path. */
export function redirectTarget(x: RedirectedRequest, target: string, rules: RedirectRules): string {
  if (!target.startsWith('/') || !rules.isAbsolute) return target;
  const { scheme, port, address } = x.request.port;
  const host = rules.byServerName ? x.serverName : x.request.host || address;
  const isUsual = port === 0 || port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host}${isUsual || !rules.withPort ? '' : `:${port}`}${target}`;
}

/** Returns the page that redirects old versions of Internet Explorer (nginx: `msie_refresh`). */
export function refreshPage(target: string): string {
  const url = target.replaceAll('"', '%22').replaceAll("'", '%27');
  return `<html><head><meta http-equiv="Refresh" content="0; URL=${url}"></head><body></body></html>\r\n`;
}
