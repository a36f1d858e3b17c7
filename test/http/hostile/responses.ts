/** One HTTP/1.1 response as it came over the connection. */
export interface WireResponse {
  readonly status: number;
  /** Lower-case names; repeated ones joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Splits what a connection received (latin1) into responses, strictly: every byte that is not part of one throws.
 * `methods` are those of the requests in order (GET when missing), because the response to HEAD has no body. `last` is what
 * may follow them: a response of HTTP/0.9, which has no head and ends the connection.
 */
export function splitResponses(
  received: string,
  methods: readonly string[] = [],
  last?: RegExp,
): WireResponse[] {
  const responses: WireResponse[] = [];
  let rest = received;
  while (rest !== '') {
    const head = /^HTTP\/1\.1 (\d{3}) [^\r\n\0]*\r\n((?:[!#$%&'*+.^_`|~\w-]+: [^\r\n\0\x7f]*\r\n)*)\r\n/.exec(
      rest,
    );
    if (!head && last?.test(rest)) break;
    if (!head) throw new Error(`not a response: ${JSON.stringify(rest.slice(0, 300))}`);
    const status = Number(head[1]);
    const headers = readHeaders(head[2] as string);
    rest = rest.slice(head[0].length);
    if (status === 100) continue;
    const bodiless = methods[responses.length] === 'HEAD' || status === 204 || status === 304;
    const [body, left] = bodiless ? ['', rest] : readBody(headers, rest);
    rest = left;
    responses.push({ status, headers, body });
  }
  return responses;
}

function readHeaders(block: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of block.split('\r\n').slice(0, -1)) {
    const colon = line.indexOf(': ');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 2);
    const known = headers.get(name);
    if (known !== undefined && /^(?:content-length|transfer-encoding|connection)$/.test(name)) {
      throw new Error(`two ${name} headers: ${known} and ${value}`);
    }
    headers.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  return headers;
}

function readBody(headers: ReadonlyMap<string, string>, rest: string): [body: string, rest: string] {
  if (headers.has('transfer-encoding')) throw new Error('a chunked response is not expected here');
  // uWebSockets.js closes the connection after its own refusals.
  if (!headers.has('content-length') && headers.get('connection') === 'close') return [rest, ''];
  const length = Number(headers.get('content-length'));
  if (!Number.isInteger(length) || rest.length < length)
    throw new Error(`cut off after ${rest.length} of ${length} bytes`);
  return [rest.slice(0, length), rest.slice(length)];
}
