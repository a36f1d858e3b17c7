/** The offers of a TLS ClientHello; numbers as assigned by IANA. */
export interface ClientHello {
  /** The requested server name as sent; '' if there is none. */
  readonly serverName: string;
  readonly ciphers: readonly number[];
  readonly curves: readonly number[];
  readonly signatureAlgorithms: readonly number[];
  /** The versions that TLS 1.3 clients offer; empty if the version is older. */
  readonly versions: readonly number[];
  /** The tickets of the sessions that the client wants to resume. */
  readonly tickets: readonly Buffer[];
  /** The protocols that ALPN offers (RFC 7301). */
  readonly protocols: readonly string[];
}

/** A hello, or the number of bytes needed at least. `unreadable`: the TLS library will report the error. */
type HelloPrefix = ClientHello | number | 'unreadable';

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
/** Length of the type and length fields of a handshake message. */
const MESSAGE_HEAD = 4;
const SERVER_NAME = 0;
const SUPPORTED_GROUPS = 10;
const SIGNATURE_ALGORITHMS = 13;
const PROTOCOLS = 16;
const SESSION_TICKET = 35;
const PRE_SHARED_KEY = 41;
const SUPPORTED_VERSIONS = 43;
/** Length of the age that follows a ticket (RFC 8446, 4.2.11). */
const TICKET_AGE = 4;
/** Longest hello including its records. Hellos with post-quantum key shares are far shorter. */
const LONGEST_HELLO = 20_480;

/** Tells whether a connection begins with a TLS record: a request cannot begin with 0x16. */
export function isTls(bytes: Buffer): boolean {
  return bytes[0] === HANDSHAKE;
}

/**
 * Reads the hello, by which server and certificate are chosen (RFC 8446, 4.1.2; RFC 6066, 3). The bytes are not
 * consumed.
 */
export function readClientHello(bytes: Buffer): HelloPrefix {
  const message = joinRecords(bytes);
  if (typeof message === 'string' || typeof message === 'number') return message;
  try {
    return parse(new Cursor(message));
  } catch {
    return 'unreadable';
  }
}

/** Returns the handshake message in the first records. */
function joinRecords(bytes: Buffer): Buffer | number | 'unreadable' {
  const parts: Buffer[] = [];
  let length = 0;
  let wanted = MESSAGE_HEAD;
  for (let at = 0; ;) {
    if (at + 5 > bytes.length) return at + 5;
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    // RFC 8446, 5.1: no handshake record is empty.
    if (bytes[at] !== HANDSHAKE || end === at + 5 || end > LONGEST_HELLO) return 'unreadable';
    if (end > bytes.length) return end;
    parts.push(bytes.subarray(at + 5, end));
    length += end - at - 5;
    at = end;
    if (parts[0]?.[0] !== CLIENT_HELLO) return 'unreadable';
    // Fragments are joined only when they are complete: a hello in thousands of records would be copied as often.
    if (length < wanted) continue;
    const message = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, length);
    wanted = MESSAGE_HEAD + message.readUIntBE(1, 3);
    if (length >= wanted) return message.subarray(MESSAGE_HEAD);
  }
}

function parse(hello: Cursor): ClientHello {
  // Version and random.
  hello.skip(34);
  hello.vector(1);
  const ciphers = hello.vector(2).numbers();
  hello.vector(1);
  let serverName = '';
  let curves: readonly number[] = [];
  let signatureAlgorithms: readonly number[] = [];
  let versions: readonly number[] = [];
  const tickets: Buffer[] = [];
  let protocols: readonly string[] = [];
  const extensions = hello.isAtEnd ? hello : hello.vector(2);
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const body = extensions.vector(2);
    if (type === SERVER_NAME) serverName = readServerName(body);
    else if (type === SUPPORTED_GROUPS) curves = body.vector(2).numbers();
    else if (type === SIGNATURE_ALGORITHMS) signatureAlgorithms = body.vector(2).numbers();
    else if (type === SUPPORTED_VERSIONS) versions = body.vector(1).numbers();
    else if (type === PROTOCOLS) protocols = readProtocols(body.vector(2));
    else if (type === SESSION_TICKET) tickets.push(body.bytes());
    else if (type === PRE_SHARED_KEY) tickets.push(...readIdentities(body.vector(2)));
  }
  const used = tickets.filter(({ length }) => length > 0);
  return { serverName, ciphers, curves, signatureAlgorithms, versions, tickets: used, protocols };
}

function readProtocols(names: Cursor): readonly string[] {
  const protocols: string[] = [];
  while (!names.isAtEnd) protocols.push(names.vector(1).text());
  return protocols;
}

function readIdentities(identities: Cursor): readonly Buffer[] {
  const tickets: Buffer[] = [];
  while (!identities.isAtEnd) {
    tickets.push(identities.vector(2).bytes());
    identities.skip(TICKET_AGE);
  }
  return tickets;
}

function readServerName(body: Cursor): string {
  const names = body.vector(2);
  while (!names.isAtEnd) {
    const isHostName = names.number(1) === 0;
    const name = names.vector(2);
    if (isHostName) return name.text();
  }
  return '';
}

/** Reads TLS encoding: numbers, and vectors with their length. Throws if the bytes end too early. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  skip(length: number): void {
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new RangeError('a hello ends too early');
  }

  number(size: 1 | 2): number {
    this.skip(size);
    const last = this.#bytes[this.#at - 1] as number;
    return size === 1 ? last : ((this.#bytes[this.#at - 2] as number) << 8) | last;
  }

  vector(lengthSize: 1 | 2): Cursor {
    const length = this.number(lengthSize);
    this.skip(length);
    return new Cursor(this.#bytes.subarray(this.#at - length, this.#at));
  }

  /** Returns the whole content as 16-bit numbers. */
  numbers(): readonly number[] {
    const numbers: number[] = [];
    while (!this.isAtEnd) numbers.push(this.number(2));
    return numbers;
  }

  text(): string {
    return this.#bytes.toString('latin1');
  }

  bytes(): Buffer {
    return this.#bytes;
  }
}
