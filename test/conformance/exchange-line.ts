import { connectRaw, type RawConnection } from '../harness/raw.ts';
import { maskPort } from './mask-port.ts';
import { PRODUCT } from './product.ts';

/** Sent behind every exchange: its response shows that the connection still carries requests, and ends it. */
const LAST = 'GET /last HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n';
const LAST_RESPONSE = 'the last one';
const PADDING = /<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n/g;
const NOT_SHOWN: ReadonlySet<string> = new Set(['date', 'server', 'content-length', 'uwebsockets']);

/**
 * Sends bytes as they are and shows everything that comes back on one line: each response as `200 name=value …: body`, then
 * `open` or `closed`. `\r \n \t \xNN \\` are bytes, `<wait>` waits for something to come back, `<N x>` is N times x,
 * `<end>` ends what the client sends.
 */
export async function exchangeLine(port: number, text: string): Promise<string> {
  const connection = await connectRaw(port);
  const parts = text.split(/(<wait>|<end>)/);
  for (const part of parts) {
    if (part === '<wait>') await something(connection);
    else if (part === '<end>') connection.end();
    else connection.write(bytesOf(part));
  }
  await something(connection);
  connection.write(LAST);
  const received = await connection.closed;
  const end = received.indexOf(LAST_RESPONSE);
  const responses = readResponses(
    end < 0 ? received : received.slice(0, received.lastIndexOf('HTTP/1.1', end)),
    text,
  );
  return maskPort([...responses, end < 0 ? 'closed' : 'open'].join(' ; '), port);
}

/** Resolves when more has come than before, or at the end. */
async function something(connection: RawConnection): Promise<void> {
  const before = connection.received().length;
  await connection.until(new RegExp(`[^]{${before + 1}}`)).catch(() => undefined);
}

function bytesOf(text: string): string {
  return text
    .replaceAll(/<(\d+) ([^>]*)>/g, (_, count: string, repeated: string) => repeated.repeat(Number(count)))
    .replaceAll(/\\(r|n|t|\\|x[0-9a-fA-F]{2})/g, (_, code: string) =>
      code.startsWith('x') ? String.fromCharCode(parseInt(code.slice(1), 16)) : (NAMED[code] ?? code),
    );
}

const NAMED: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', '\\': '\\' };

function readResponses(received: string, request: string): string[] {
  const responses: string[] = [];
  for (let rest = received; rest !== '';) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (!rest.startsWith('HTTP/') || headEnd < 0) return [...responses, `raw ${JSON.stringify(rest)}`];
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const headers = lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]);
    const { body, size, note } = bodyOf(rest.slice(headEnd + 4), { statusLine, headers, request });
    responses.push(describe(statusLine, headers, request) + note + shownBody(body));
    rest = rest.slice(headEnd + 4 + size);
  }
  return responses;
}

interface Head {
  readonly statusLine: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly request: string;
}

/** The body, the bytes that it took, and what is notable about its framing. */
function bodyOf(
  rest: string,
  { statusLine, headers, request }: Head,
): { body: string; size: number; note: string } {
  const value = (name: string): string | undefined =>
    headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const isPage = / [345]\d\d /.test(statusLine);
  const isBare = / (1\d\d|204|304) /.test(`${statusLine} `) || request.startsWith('HEAD ');
  const length = value('content-length');
  if (isBare) return { body: '', size: 0, note: length === undefined || isPage ? '' : ` length ${length}` };
  if (value('transfer-encoding') === 'chunked') return { ...chunkedBody(rest), note: '' };
  if (length === undefined) return { body: rest, size: rest.length, note: ' until it closes' };
  return { body: rest.slice(0, Number(length)), size: Number(length), note: '' };
}

function chunkedBody(rest: string): { body: string; size: number } {
  let body = '';
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', at);
    const size = parseInt(rest.slice(at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(size)) return { body: `${body}(broken off)`, size: rest.length };
    body += rest.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
    if (size === 0) return { body, size: at };
  }
}

/** Sorted by name. The effect of `Connection` shows in what follows, except for HTTP/1.0, where the header is shown. */
function describe(statusLine: string, headers: Head['headers'], request: string): string {
  const shown = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !NOT_SHOWN.has(name))
    .filter(([name]) => request.includes('HTTP/1.0') || name !== 'connection')
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();
  return [statusLine.replace('HTTP/1.1 ', '').trimEnd(), ...shown].join(' ');
}

function shownBody(body: string): string {
  const plain = body.replaceAll(PADDING, '').replaceAll(PRODUCT, 'PRODUCT');
  const [, title] = /^<html>\r\n<head><title>(.*)<\/title>/.exec(plain) ?? [];
  return title === undefined
    ? `: ${JSON.stringify(plain).slice(1, -1)}`
    : `: <${title}> ${plain.length} bytes`;
}
