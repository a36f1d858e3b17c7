import type { RequestFacts } from './request-facts.ts';

/** What a redirect names besides the path. */
export interface RedirectRules {
  /** False: only the path (`absolute_redirect off`). */
  readonly isAbsolute: boolean;
  /** The name of the server instead of the request's. */
  readonly byServerName: boolean;
  readonly withPort: boolean;
}

/** A request that is redirected. */
interface RedirectedRequest {
  readonly request: RequestFacts;
  readonly serverName: string;
}

/** The `Location` of a redirect: a path gets scheme, host and port in front. */
export function redirectTarget(x: RedirectedRequest, target: string, rules: RedirectRules): string {
  if (!target.startsWith('/') || !rules.isAbsolute) return target;
  const { scheme, port, address } = x.request.port;
  const host = rules.byServerName ? x.serverName : x.request.host || address;
  const isUsual = port === 0 || port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host}${isUsual || !rules.withPort ? '' : `:${port}`}${target}`;
}

/** What old Internet Explorers take for a redirect (nginx: `msie_refresh`). */
export function refreshPage(target: string): string {
  const url = target.replaceAll('"', '%22').replaceAll("'", '%27');
  return `<html><head><meta http-equiv="Refresh" content="0; URL=${url}"></head><body></body></html>\r\n`;
}
