import { isChrome, isMsie } from './head.ts';
import { escapeMarkup } from './markup.ts';

/** nginx's wording for every status it knows (ngx_http_header_filter_module.c); part of what monitoring greps for. */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Time-out',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Request Entity Too Large',
  414: 'Request-URI Too Large',
  415: 'Unsupported Media Type',
  416: 'Requested Range Not Satisfiable',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Temporarily Unavailable',
  504: 'Gateway Time-out',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
};

/** nginx's internal codes: on the wire they are 400, with a page that says what was wrong. */
const BAD_REQUEST_DETAILS: Readonly<Record<number, string>> = {
  494: 'Request Header Or Cookie Too Large',
  495: 'The SSL certificate error',
  496: 'No required SSL certificate was sent',
  497: 'The plain HTTP request was sent to HTTPS port',
};

/** Pages whose title is not the status line. 498 is a cancelled code that still shows the page of 404. */
const PAGE_TITLES: Readonly<Record<number, string>> = {
  302: '302 Found',
  401: '401 Authorization Required',
  498: '404 Not Found',
};

const LINES = Array.from({ length: 1000 }, (_, code) => {
  const wireCode = statusOnWire(code);
  return `${String(wireCode).padStart(3, '0')} ${REASONS[wireCode] ?? ''}`;
});

/** The status that a client sees: nginx's internal 494–497 are 400. */
export function statusOnWire(code: number): number {
  return code in BAD_REQUEST_DETAILS ? 400 : code;
}

/**
 * What follows `HTTP/1.1 ` in the status line: `302 Moved Temporarily`; `418 ` for a status that nginx has no words for.
 * `reason` takes the place of its words.
 */
export function statusLine(code: number, reason?: string): string {
  return reason === undefined ? (LINES[code] ?? `${code} `) : `${statusOnWire(code)} ${reason}`;
}

/**
 * nginx's built-in page for a status, with `serverToken` (`gw/0.1.0`) at its foot; `undefined` where nginx has none and
 * sends an empty body. `isPadded`: long enough for browsers that show pages of their own instead of short ones.
 */
export function builtInPage(code: number, serverToken: string, isPadded = false): string | undefined {
  const bare = unpaddedPage(code, serverToken);
  return isPadded && bare !== undefined ? bare + PADDING : bare;
}

/** nginx's own: with it a page has more than the 512 bytes that Internet Explorer wants. */
const PADDING = '<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n'.repeat(6);

function unpaddedPage(code: number, serverToken: string): string | undefined {
  const detail = BAD_REQUEST_DETAILS[code];
  if (detail !== undefined) {
    return page({ title: `400 ${detail}`, heading: statusLine(400), detail, serverToken });
  }
  const hasPage = code >= 300 && code !== 304 && code in REASONS;
  const title = PAGE_TITLES[code] ?? (hasPage ? statusLine(code) : undefined);
  return title === undefined ? undefined : page({ title, heading: title, serverToken });
}

interface Page {
  readonly title: string;
  readonly heading: string;
  readonly detail?: string;
  readonly serverToken: string;
}

function page({ title, heading, detail, serverToken }: Page): string {
  const detailLine = detail === undefined ? '' : `<center>${detail}</center>\r\n`;
  return (
    `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n` +
    `${detailLine}<hr><center>${serverToken}</center>\r\n</body>\r\n</html>\r\n`
  );
}

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
  // A name that is made of a request must not bring elements along.
  return builtInPage(status, escapeMarkup(serverToken), isPadded);
}

/** A failure that decides the status of the answer; `cause` goes to the error log only. */
export class HttpFault extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What the error log says of a failure that nobody expected. */
export function describeFailure(error: unknown): string {
  return `unexpected failure: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
