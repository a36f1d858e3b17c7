import {
  type LocationFacts,
  TrialRefusal,
  type TrialRequest,
  type TrialResponse,
} from '../../../contract/index.ts';
import {
  isSafeHeaderName,
  isSafeHeaderValue,
  isValidQuery,
  normalizePath,
  type BodyReader,
  Exchange,
  type ResponseStream,
  type Wire,
} from '../../../http/index.ts';
import { type Identity, isRoleName } from '../auth/index.ts';
import { KeptBody } from '../request/index.ts';

const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'QUERY',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
/** Headers that the trial itself decides about. */
const DECIDED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);
const MOST_HEADERS = 40;
const MOST_HEADER_CHARACTERS = 8_192;
const MOST_TARGET_CHARACTERS = 8_192;
const MOST_CLAIMS_CHARACTERS = 8_192;

/** Reads the request of a trial as an engine would have. Throws a `TrialRefusal` (400). */
export function readTried(
  { method, target, headers, body }: TrialRequest,
  { kind, path }: LocationFacts,
): TriedRequest {
  if (!METHODS.has(method)) throw new TrialRefusal(400, 'the method must be one of a REST location');
  if (target.length > MOST_TARGET_CHARACTERS) throw new TrialRefusal(400, 'the path is too long');
  const [, sent = '', args = ''] = /^([^?#]*)\??([^#]*)$/s.exec(target) ?? [];
  const uri = sent.startsWith('/') && isValidQuery(args) ? normalizePath(sent, true) : undefined;
  if (uri === undefined || !isValidQuery(sent)) throw new TrialRefusal(400, 'the path is malformed');
  if (kind === 'prefix' && !uri.startsWith(path))
    throw new TrialRefusal(400, `the path must begin with ${path}`);
  return {
    method,
    requestUri: target,
    uri,
    args,
    headers: readHeaders(headers),
    body: Buffer.from(body),
  };
}

function readHeaders(headers: TrialRequest['headers']): readonly string[] {
  if (headers.length > MOST_HEADERS) throw new TrialRefusal(400, 'there are too many headers');
  let characters = 0;
  return headers.flatMap(([given, value]) => {
    const name = given.toLowerCase();
    characters += name.length + value.length;
    if (!isSafeHeaderName(name) || !isSafeHeaderValue(value))
      throw new TrialRefusal(400, 'a header is malformed');
    if (DECIDED.has(name)) throw new TrialRefusal(400, `the header ${name} cannot be chosen`);
    if (characters > MOST_HEADER_CHARACTERS) throw new TrialRefusal(400, 'the headers are too long');
    return [name, value];
  });
}

/** The identity of a trial: as if a token had chosen the role. Throws a `TrialRefusal` (400). */
export function readIdentity({ role, claims }: Pick<TrialRequest, 'role' | 'claims'>): Identity {
  if (!isRoleName(role)) throw new TrialRefusal(400, 'the role is malformed');
  const text = JSON.stringify({ role, ...claims });
  if (text.length > MOST_CLAIMS_CHARACTERS) throw new TrialRefusal(400, 'the claims are too long');
  if (text.includes('\\u0000')) throw new TrialRefusal(400, 'the claims have a NUL character');
  return { role, jwt: '', claims: text, rejected: false };
}

/** Bytes of a response body that are kept; the rest is counted. */
const MOST_BODY_BYTES = 65_536;

/** A request as the client of a REST location would send it. */
interface TriedRequest {
  readonly method: string;
  readonly requestUri: string;
  readonly uri: string;
  readonly args: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** The wire of a trial: the request comes from an operator, and its response is kept instead of being sent. */
export class TrialWire implements Wire {
  readonly x: Exchange;
  readonly peerPort = 0;
  readonly requestLength = 0;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  readonly #origin: Exchange;
  readonly #body: Buffer;
  readonly #kept = new KeptBody(MOST_BODY_BYTES);

  constructor({ body, ...tried }: TriedRequest, origin: Exchange) {
    this.#origin = origin;
    this.#body = body;
    const { rules, request } = origin;
    // Additions of the console to its own responses do not belong to those of a trial.
    const own = { filters: [], bodyFilters: [], logs: [], errorPages: undefined, tooLarge: undefined };
    this.x = new Exchange(
      { ...request, ...tried, contentLength: body.byteLength },
      { wire: this, rules: { ...rules, ...own } },
    );
  }

  get peerAddress(): string {
    return this.#origin.remoteAddress;
  }

  /** The operator has closed the connection. */
  get isLeft(): boolean {
    return this.#origin.aborted;
  }

  /** The response; `undefined` if there is none. */
  get response(): TrialResponse | undefined {
    const { status, response } = this.x;
    if (status === 0) return undefined;
    const { type, headers: list = [] } = response;
    const named = list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] ?? ''] as const] : []));
    return {
      status,
      headers: type === '' ? named : [['Content-Type', type], ...named],
      body: this.#kept.content.toString(),
      bodyBytes: this.#kept.bytes,
      isCut: this.#kept.isCut,
    };
  }

  keepPeer(): void {
    this.#origin.wire.keepPeer();
  }

  readBody({ limitBytes, receive, settle, fail }: BodyReader): void {
    if (this.#body.byteLength > limitBytes) settle('too large');
    else if (receive) Promise.resolve(receive(this.#body)).then(() => settle(Buffer.alloc(0)), fail);
    else settle(this.#body);
  }

  write(body: string | Uint8Array): void {
    if (this.x.request.method !== 'HEAD') this.#kept.add(body);
  }

  open(): ResponseStream | undefined {
    const isHead = this.x.request.method === 'HEAD';
    return isHead ? undefined : KeptBody.stream((chunk) => this.#kept.add(chunk));
  }

  tunnel(): void {
    // A REST location changes no protocol.
  }

  close(): void {
    this.x.aborted = this.x.done = true;
  }
}
