import { builtInPage } from './status.ts';
import { isChrome, isMsie } from './user-agent.ts';

/**
 * Behind these the connection closes, where they end in an error page too (nginx: ngx_http_special_response_handler). A 413
 * does not: a client that still sends could not read it.
 */
const CLOSING_STATUSES: ReadonlySet<number> = new Set([400, 414, 494, 495, 496, 497, 500, 501]);

/** Whether a fault of this status ends the connection. */
export function endsConnection(status: number): boolean {
  return CLOSING_STATUSES.has(status);
}

/** The built-in page for a status; `undefined` where nginx has none. `userAgent`: the client, where pages are padded. */
export function ownPage(
  status: number,
  serverToken: string,
  userAgent: string | undefined,
): string | undefined {
  // Some browsers show pages of their own instead of short ones.
  const isPadded = status >= 400 && userAgent !== undefined && (isMsie(userAgent) || isChrome(userAgent));
  return builtInPage(status, escapeHtml(serverToken), isPadded);
}

/** A name that is made of a request must not bring elements along. */
function escapeHtml(text: string): string {
  return /[&<>]/.test(text)
    ? text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    : text;
}
