import type { TLSSocket } from 'node:tls';
import type { ClientCertificate, TlsFacts } from '../../../http/index.ts';
import type { ClientHello } from './client-hello.ts';
import { readSession } from './session-state.ts';

/** OpenSSL's names of cipher suites by IANA's numbers (iana.org/assignments/tls-parameters). */
export const CIPHERS: Readonly<Record<number, string>> = {
  0x0004: 'RC4-MD5',
  0x0005: 'RC4-SHA',
  0x000a: 'DES-CBC3-SHA',
  0x002f: 'AES128-SHA',
  0x0033: 'DHE-RSA-AES128-SHA',
  0x0035: 'AES256-SHA',
  0x0039: 'DHE-RSA-AES256-SHA',
  0x003c: 'AES128-SHA256',
  0x003d: 'AES256-SHA256',
  0x0067: 'DHE-RSA-AES128-SHA256',
  0x006b: 'DHE-RSA-AES256-SHA256',
  0x009c: 'AES128-GCM-SHA256',
  0x009d: 'AES256-GCM-SHA384',
  0x009e: 'DHE-RSA-AES128-GCM-SHA256',
  0x009f: 'DHE-RSA-AES256-GCM-SHA384',
  0x1301: 'TLS_AES_128_GCM_SHA256',
  0x1302: 'TLS_AES_256_GCM_SHA384',
  0x1303: 'TLS_CHACHA20_POLY1305_SHA256',
  0x1304: 'TLS_AES_128_CCM_SHA256',
  0x1305: 'TLS_AES_128_CCM_8_SHA256',
  0xc008: 'ECDHE-ECDSA-DES-CBC3-SHA',
  0xc009: 'ECDHE-ECDSA-AES128-SHA',
  0xc00a: 'ECDHE-ECDSA-AES256-SHA',
  0xc012: 'ECDHE-RSA-DES-CBC3-SHA',
  0xc013: 'ECDHE-RSA-AES128-SHA',
  0xc014: 'ECDHE-RSA-AES256-SHA',
  0xc023: 'ECDHE-ECDSA-AES128-SHA256',
  0xc024: 'ECDHE-ECDSA-AES256-SHA384',
  0xc027: 'ECDHE-RSA-AES128-SHA256',
  0xc028: 'ECDHE-RSA-AES256-SHA384',
  0xc02b: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  0xc02c: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  0xc02f: 'ECDHE-RSA-AES128-GCM-SHA256',
  0xc030: 'ECDHE-RSA-AES256-GCM-SHA384',
  0xcca8: 'ECDHE-RSA-CHACHA20-POLY1305',
  0xcca9: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  0xccaa: 'DHE-RSA-CHACHA20-POLY1305',
};

/** OpenSSL's names of curves by IANA's numbers. */
export const CURVES: Readonly<Record<number, string>> = {
  22: 'secp256k1',
  23: 'prime256v1',
  24: 'secp384r1',
  25: 'secp521r1',
  26: 'brainpoolP256r1',
  27: 'brainpoolP384r1',
  28: 'brainpoolP512r1',
  29: 'X25519',
  30: 'X448',
  256: 'ffdhe2048',
  257: 'ffdhe3072',
  258: 'ffdhe4096',
  259: 'ffdhe6144',
  260: 'ffdhe8192',
  4587: 'SecP256r1MLKEM768',
  4588: 'X25519MLKEM768',
  4589: 'SecP384r1MLKEM1024',
};

/** Signalling values in the list of ciphers (RFC 5746, RFC 7507). */
const SIGNALS: ReadonlySet<number> = new Set([0x00ff, 0x5600]);

/** Returns a list of offered cipher suites as nginx prints it: by name, or as a number if there is no name. */
export function cipherNames(numbers: readonly number[]): string {
  return numbers
    .filter((number) => !SIGNALS.has(number))
    .map((number) => CIPHERS[number] ?? hex(number))
    .join(':');
}

/** Returns a list of offered curves in the same format. */
export function curveNames(numbers: readonly number[]): string {
  return numbers.map((number) => CURVES[number] ?? hex(number)).join(':');
}

function hex(number: number): string {
  return `0x${number.toString(16).padStart(4, '0')}`;
}

type HandshakeResult = Pick<TlsFacts, 'namesServer' | 'client'>;

/** The parts of a hello that variables show later; its tickets are not kept. */
type Offers = Pick<ClientHello, 'ciphers' | 'curves'>;

/** A name that is safe in a path: labels of letters, digits, `-` and `_`, joined with dots. */
const SAFE_NAME = /^[\w-]+(?:\.[\w-]+)*$/;

/** The facts about a connection before its handshake. */
export class HelloTlsFacts implements TlsFacts {
  readonly protocol = '';
  readonly cipher = '';
  readonly curve = '';
  readonly sessionId = '';
  readonly sessionReused = false;
  readonly alpnProtocol = '';
  readonly client = undefined;
  readonly namesServer: boolean;
  readonly #hello: ClientHello;

  constructor(hello: ClientHello, namesServer: boolean) {
    this.#hello = hello;
    this.namesServer = namesServer;
  }

  /** The name in lower case, as certificate files are named. Throws if it could lead to another directory. */
  get serverName(): string {
    const { serverName } = this.#hello;
    if (serverName !== '' && !SAFE_NAME.test(serverName))
      throw new Error(`unsafe server name "${serverName}"`);
    return serverName.toLowerCase();
  }

  get ciphers(): string {
    return cipherNames(this.#hello.ciphers);
  }

  get curves(): string {
    return curveNames(this.#hello.curves);
  }
}

/** The result of a connection's handshake. Most values are read from the socket when a variable needs them. */
export class SocketTlsFacts implements TlsFacts {
  readonly serverName: string;
  readonly namesServer: boolean;
  readonly client: ClientCertificate | undefined;
  readonly #socket: TLSSocket;
  readonly #offers: Offers;

  constructor(
    socket: TLSSocket,
    { serverName, ciphers, curves }: ClientHello,
    { namesServer, client }: HandshakeResult,
  ) {
    this.#socket = socket;
    this.#offers = { ciphers, curves };
    this.serverName = serverName;
    this.namesServer = namesServer;
    this.client = client;
  }

  get protocol(): string {
    return this.#socket.getProtocol() ?? '';
  }

  get cipher(): string {
    // `undefined` after the connection is closed.
    return (this.#socket.getCipher() as { name: string } | undefined)?.name ?? '';
  }

  get ciphers(): string {
    return cipherNames(this.#offers.ciphers);
  }

  get curves(): string {
    return curveNames(this.#offers.curves);
  }

  /** On servers, node:tls shows the curve in the session only. */
  get curve(): string {
    const curve = this.#session?.curve ?? 0;
    return curve === 0 ? '' : curveNames([curve]);
  }

  get sessionId(): string {
    return this.#session?.id ?? '';
  }

  get #session(): ReturnType<typeof readSession> {
    const session = this.#socket.getSession();
    return session && readSession(session);
  }

  get sessionReused(): boolean {
    return this.#socket.isSessionReused();
  }

  get alpnProtocol(): string {
    return this.#socket.alpnProtocol || '';
  }
}
