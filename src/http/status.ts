import { STATUS_CODES } from 'node:http';

/**
 * nginx's reason phrase for every status it knows (ngx_http_header_filter_module.c). Monitoring often searches for
 * these.
 */
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

/** nginx's internal codes. They are sent as 400, with a page that names the cause. */
const BAD_REQUEST_DETAILS: Readonly<Record<number, string>> = {
  494: 'Request Header Or Cookie Too Large',
  495: 'The SSL certificate error',
  496: 'No required SSL certificate was sent',
  497: 'The plain HTTP request was sent to HTTPS port',
};

/** Pages whose title is not the status line. nginx no longer uses 498, but still shows the page of 404 for it. */
const PAGE_TITLES: Readonly<Record<number, string>> = {
  302: '302 Found',
  401: '401 Authorization Required',
  498: '404 Not Found',
};

const LINES = Array.from({ length: 1000 }, (_, code) => {
  const wireCode = statusOnWire(code);
  return `${String(wireCode).padStart(3, '0')} ${REASONS[wireCode] ?? ''}`;
});

/** Returns the status that a client sees: nginx's internal codes 494–497 become 400. */
export function statusOnWire(code: number): number {
  return code in BAD_REQUEST_DETAILS ? 400 : code;
}

/**
 * Returns the text after `HTTP/1.1 ` in a status line: `302 Moved Temporarily`, or `418 ` if nginx has no phrase for
 * the status. `reason` replaces the phrase.
 */
export function statusLine(code: number, reason?: string): string {
  return reason === undefined ? (LINES[code] ?? `${code} `) : `${statusOnWire(code)} ${reason}`;
}

/** The names of the status classes, used for statuses without a phrase of their own (RFC 9110, 15). */
const CLASSES = ['', 'Informational', 'Successful', 'Redirection', 'Client Error', 'Server Error'];

/** Returns the usual reason phrase of a status for which nginx has none; `undefined` if nginx has one. */
export function usualReason(code: number): string | undefined {
  if (code in REASONS) return undefined;
  return STATUS_CODES[code] ?? CLASSES[Math.floor(code / 100)];
}

/**
 * Returns nginx's built-in page for a status, with `serverToken` (`gw/1.0.0`) at its foot; `undefined` if nginx has
 * none and sends an empty body. `isPadded` makes it long enough for browsers that replace short error pages.
 */
export function builtInPage(code: number, serverToken: string, isPadded = false): string | undefined {
  const bare = unpaddedPage(code, serverToken);
  return isPadded && bare !== undefined ? bare + PADDING : bare;
}

/** nginx's own padding. With it a page exceeds the 512 bytes that Internet Explorer requires. */
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
 * Statuses after which the connection is closed, even if an error page is served (nginx:
 * ngx_http_special_response_handler). 413 is missing: a client that is still sending could not read the response.
 */
const CLOSING_STATUSES: ReadonlySet<number> = new Set([400, 414, 494, 495, 496, 497, 500, 501]);

/** Tells whether the connection is closed after an error with this status. */
export function endsConnection(status: number): boolean {
  return CLOSING_STATUSES.has(status);
}

/** Returns the built-in page for a status; `undefined` if nginx has none. Pass `userAgent` if pages may be padded. */
export function ownPage(
  status: number,
  serverToken: string,
  userAgent: string | undefined,
): string | undefined {
  // Some browsers replace short error pages with their own.
  const isPadded = status >= 400 && userAgent !== undefined && (isMsie(userAgent) || isChrome(userAgent));
  // The token may contain parts of the request, which must not become markup.
  return builtInPage(status, escapeMarkup(serverToken), isPadded);
}

/** An error that sets the status of the response. `cause` is written to the error log only. */
export class HttpFault extends Error {
  readonly status: number;
  /** No `error_page` applies. */
  readonly isFinal: boolean;

  constructor(status: number, message: string, options?: ErrorOptions & { readonly isFinal?: true }) {
    super(message, options);
    this.status = status;
    this.isFinal = options?.isFinal === true;
  }
}

/** Returns the text that the error log shows for an unexpected exception. */
export function describeFailure(error: unknown): string {
  return `unexpected failure: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/**
 * Tells whether a `User-Agent` is Internet Explorer. Opera used to include `MSIE` in its own (nginx:
 * ngx_http_process_user_agent).
 */
export function isMsie(userAgent: string): boolean {
  return /MSIE .{3}/.test(userAgent) && !userAgent.includes('Opera');
}

/**
 * Tells whether a `User-Agent` is Internet Explorer 4 to 6, except the 6 of Windows XP SP2. These cannot handle gzip.
 */
export function isMsie6(userAgent: string): boolean {
  if (userAgent.includes('Opera')) return false;
  const last = userAgent.lastIndexOf('MSIE 6.');
  return /MSIE [45]\./.test(userAgent) || (last >= 0 && !userAgent.includes('SV1', last));
}

/** Tells whether a `User-Agent` is Chrome or a browser built on it. */
function isChrome(userAgent: string): boolean {
  return userAgent.includes('Chrome/') && !/Gecko\/|Opera|MSIE .{3}/.test(userAgent);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes a text for HTML and XML, in elements and in attributes. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] as string);
}
