import { constants, hkdfSync } from 'node:crypto';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { CertificatePair } from '../../../acme/index.ts';
import type { FileName, PairPaths } from '../../../contract/index.ts';
import type { ClientCertificate } from '../../../http/index.ts';
import { secureContextOptions, sessionContextOf, type TlsPlan } from '../../../plan/index.ts';
import { certificateFiles, type FileVersion, readCertificate, readKey } from '../../../system/index.ts';
import { CertificateStatus } from './certificate-status.ts';
import { ClientCertificates, type ShownCertificate } from './client-certificates.ts';
import type { ClientHello } from './client-hello.ts';
import { openTicket } from './session-state.ts';
import { shownPair } from './shown-pair.ts';

/** The sessions of clients without tickets; when it is full, the oldest are dropped. Each worker has its own. */
class TlsSessions {
  readonly #sessions = new Map<string, { readonly session: Buffer; readonly endsMs: number }>();

  keep(
    id: Buffer,
    session: Buffer,
    { most, timeoutSeconds }: { most: number; timeoutSeconds: number },
  ): void {
    this.#sessions.set(id.toString('latin1'), { session, endsMs: Date.now() + timeoutSeconds * 1000 });
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= most) return;
      this.#sessions.delete(oldest);
    }
  }

  find(id: Buffer): Buffer | null {
    const known = this.#sessions.get(id.toString('latin1'));
    return known && known.endsMs > Date.now() ? known.session : null;
  }
}

/** Receives the result of a handshake. */
interface Handshake {
  /** `socket` is the encrypted socket; `client` is absent if no certificate was requested or sent. */
  done(socket: TLSSocket, client: ClientCertificate | undefined): void;
  failed(message: string, level: 'info' | 'error'): void;
}

/** Settings of a handshake that are not in the plan. */
interface HandshakeRules {
  /** Offers HTTP/2 to the client. */
  readonly http2: boolean;
  readonly ticketKey: string;
  readonly timeoutMs: number;
  /** The pairs to read besides those of the plan. */
  readonly pairs: readonly PairPaths[];
  readonly hello: ClientHello;
}

/** The properties in which a `tls.Server` differs from others with the same plan. */
interface ServerKind {
  /** False: every handshake is a full one. */
  readonly resumes: boolean;
  /** The index of the pair whose status is stapled; `undefined` if none is. */
  readonly stapled: number | undefined;
}

type GiveStaple = (error: Error | null, response: Buffer | null) => void;

const HTTP_1: readonly string[] = ['http/1.1', 'http/1.0', 'http/0.9'];

/**
 * `tls.Server`s per TLS plan: with and without HTTP/2, with and without resumption. None of them listens; they get
 * connections whose first bytes have been read.
 */
export class TlsServers {
  /** The servers of a plan by the number of their kind. */
  readonly #byPlan = new WeakMap<TlsPlan, Map<number, Server>>();
  readonly #caches = new Map<string, TlsSessions>();
  readonly #handshakes = new WeakMap<object, Handshake>();
  readonly #named = new NamedPairs();
  readonly #challenges = new WeakMap<CertificatePair, Server>();
  readonly #clients = new ClientCertificates();
  readonly #status: CertificateStatus;
  /** The current period of the ticket keys of each server. */
  readonly #ticketPeriods = new WeakMap<Server, number>();

  /** `note` writes to the error log. */
  constructor(note: (message: string) => void) {
    this.#status = new CertificateStatus(note);
  }

  /** Begins a handshake on a paused plain socket. The bytes read so far must have been given back to the socket. */
  begin(plan: TlsPlan, socket: object, rules: HandshakeRules & { readonly handshake: Handshake }): void {
    const { handshake } = rules;
    this.#handshakes.set(socket, handshake);
    let own = plan;
    try {
      if (rules.pairs.length > 0) own = this.#named.plan(plan, rules.pairs);
    } catch (error) {
      return handshake.failed((error as Error).message, 'error');
    }
    this.#serverFor(own, rules).emit('connection', socket);
  }

  /** Begins the handshake of a challenge on a paused plain socket (RFC 8737, 3). When it is done, the connection is closed. */
  showChallenge(pair: CertificatePair, socket: object): void {
    let server = this.#challenges.get(pair);
    if (!server) this.#challenges.set(pair, (server = openChallengeServer(pair)));
    server.emit('connection', socket);
  }

  /** Returns the server for a handshake: one without resumption if a ticket's client may not resume its session. */
  #serverFor(plan: TlsPlan, rules: HandshakeRules): Server {
    const { tickets } = rules.hello;
    const stapled = plan.stapling ? shownPair(plan, rules.hello) : undefined;
    const server = this.#serverOf(plan, rules, { stapled, resumes: true });
    if (plan.verify === 'off' || tickets.length === 0) return server;
    const keys = server.getTicketKeys();
    const mayResume = tickets.every((ticket) => {
      const session = openTicket(ticket, keys);
      return !session || this.#clients.mayResume(session, plan);
    });
    return mayResume ? server : this.#serverOf(plan, rules, { stapled, resumes: false });
  }

  #serverOf(plan: TlsPlan, rules: HandshakeRules, kind: ServerKind): Server {
    const servers = this.#byPlan.get(plan) ?? new Map<number, Server>();
    if (servers.size === 0) this.#byPlan.set(plan, servers);
    const id = 4 * ((kind.stapled ?? -1) + 1) + (rules.http2 ? 2 : 0) + (kind.resumes ? 1 : 0);
    let server = servers.get(id);
    if (!server) servers.set(id, (server = this.#open(plan, rules, kind)));
    this.#renewTicketKeys(server, plan, rules.ticketKey);
    return server;
  }

  #open(plan: TlsPlan, rules: HandshakeRules, { resumes, stapled }: ServerKind): Server {
    const { http2, timeoutMs, ticketKey } = rules;
    const options = secureContextOptions(plan);
    const server = createServer({
      ...options,
      secureOptions: (options.secureOptions ?? 0) | (resumes ? 0 : constants.SSL_OP_NO_TICKET),
      ALPNProtocols: http2 ? ['h2', ...HTTP_1] : [...HTTP_1],
      requestCert: plan.verify !== 'off',
      rejectUnauthorized: false,
      handshakeTimeout: timeoutMs,
      ticketKeys: derivedKeys(plan, ticketKey),
      // A session includes the verification of its client, so it is valid only for the same verification settings.
      sessionIdContext: sessionContextOf(plan),
    });
    server.on('secureConnection', (secure) => {
      const handshake = this.#handshakeOf(secure);
      if (!handshake) return void secure.destroy();
      const client = plan.verify === 'off' ? undefined : this.#clients.of(secure, plan);
      if (!plan.ocsp || !client || client.fault) handshake.done(secure, client);
      else void this.#askStatus(secure, { plan, client, handshake });
    });
    this.#staple(server, plan, stapled);
    server.on('tlsClientError', ({ message }, secure) =>
      this.#handshakeOf(secure)?.failed(`SSL_do_handshake() failed (SSL: ${message})`, 'info'),
    );
    if (resumes && typeof plan.sessionCache !== 'string') this.#keepSessions(server, plan, plan.sessionCache);
    return server;
  }

  /** Staples the response of a file or of a responder. */
  #staple(server: Server, plan: TlsPlan, stapled: number | undefined): void {
    const { staple } = plan;
    const pem = stapled === undefined ? undefined : plan.certificates[stapled];
    if (staple === undefined && pem === undefined) return;
    // `_certificate` is the server's last certificate, which may not be the one that is shown.
    server.on('OCSPRequest', (_certificate: Buffer, _issuer: Buffer | null, done: GiveStaple) => {
      if (staple !== undefined) return done(null, Buffer.from(staple, 'base64'));
      return void this.#askStaple(plan, pem ?? '', done);
    });
  }

  async #askStaple(plan: TlsPlan, pem: string, done: GiveStaple): Promise<void> {
    // Without a response, the handshake continues.
    const der = await this.#status.stapleFor(plan, pem).catch(() => null);
    done(null, der);
  }

  /** Delays requests until the status of the client's certificates is known. */
  async #askStatus(
    secure: TLSSocket,
    { plan, client, handshake }: { plan: TlsPlan; client: ShownCertificate; handshake: Handshake },
  ): Promise<void> {
    const ignore = (): void => undefined;
    secure.on('error', ignore);
    const authorities = this.#clients.authoritiesOf(plan);
    const fault = plan.ocsp && (await this.#status.faultOf(client.chain, plan.ocsp, authorities));
    if (secure.destroyed) return;
    handshake.done(
      secure,
      fault === undefined ? client : { ...client, fault: { code: 'OCSP_STATUS', text: fault } },
    );
    secure.off('error', ignore);
  }

  /**
   * Rotates ticket keys: as in nginx with a shared cache, those without a file change after each `ssl_session_timeout`.
   * Older tickets are void then.
   */
  #renewTicketKeys(server: Server, plan: TlsPlan, ticketKey: string): void {
    const { sessionCache, sessionTimeoutSeconds } = plan;
    const isShared = typeof sessionCache !== 'string' && sessionCache.name !== '';
    if (plan.ticketKey !== undefined || !isShared || sessionTimeoutSeconds === 0) return;
    const period = Math.floor(Date.now() / 1000 / sessionTimeoutSeconds);
    if (this.#ticketPeriods.get(server) === period) return;
    this.#ticketPeriods.set(server, period);
    server.setTicketKeys(derivedKeys(plan, ticketKey, `${sessionTimeoutSeconds} ${period}`));
  }

  /** This undocumented property is the only way to find the plain socket under a TLS socket. */
  #handshakeOf(secure: TLSSocket): Handshake | undefined {
    const { _parent: socket } = secure as { _parent?: object };
    return socket && this.#handshakes.get(socket);
  }

  #keepSessions(
    server: Server,
    plan: TlsPlan,
    { name, sessions: most }: { readonly name: string; readonly sessions: number },
  ): void {
    const cache = (name === '' ? undefined : this.#caches.get(name)) ?? new TlsSessions();
    if (name !== '') this.#caches.set(name, cache);
    server.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
      cache.keep(id, session, { most, timeoutSeconds: plan.sessionTimeoutSeconds });
      done();
    });
    server.on('resumeSession', (id: Buffer, done: (error: Error | null, session: Buffer | null) => void) => {
      const session = cache.find(id);
      done(null, session && this.#clients.mayResume(session, plan) ? session : null);
    });
  }
}

const CHALLENGE_MS = 10_000;

/** A server that shows the certificate of a challenge, and serves no request. */
function openChallengeServer({ chain, key }: CertificatePair): Server {
  const server = createServer({
    cert: chain,
    key,
    ALPNProtocols: ['acme-tls/1'],
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    handshakeTimeout: CHALLENGE_MS,
  });
  server.on('secureConnection', (secure) => {
    secure.on('error', () => secure.destroy());
    secure.setTimeout(CHALLENGE_MS, () => secure.destroy());
    // What the client sends is not read: the handshake was all that it wanted.
    secure.end(() => secure.destroySoon());
  });
  server.on('tlsClientError', (_, secure) => secure.destroy());
  return server;
}

/**
 * Returns the ticket keys of a server. All workers derive the same keys without communication. Servers that verify
 * clients differently have different keys.
 */
function derivedKeys(plan: TlsPlan, ticketKey: string, period = ''): Buffer {
  const secret = Buffer.from(plan.ticketKey ?? ticketKey, 'base64');
  return Buffer.from(hkdfSync('sha256', secret, sessionContextOf(plan), period, secret.length));
}

/** What is before the content of a certificate or key that is in no file. */
const DATA = 'data:';

/** Maximum number of plans that are kept, each until its files change. */
const MAX_KEPT = 1_000;

interface PairVersions {
  readonly certificate: FileVersion;
  readonly key: FileVersion;
}

/** Reads the certificates and keys whose names contain variables (`ssl_certificate $ssl_server_name.pem`). */
class NamedPairs {
  readonly #kept = new LRUCache<string, TlsPlan>({ max: MAX_KEPT });
  readonly #ids = new WeakMap<TlsPlan, number>();
  readonly #textIds = new LRUCache<string, number>({ max: 2 * MAX_KEPT });
  #lastId = 0;

  /** Returns the settings with the pairs of a handshake. Throws if they cannot be read. */
  plan(plan: TlsPlan, pairs: readonly PairPaths[]): TlsPlan {
    const files = certificateFiles(plan.certificateCache);
    const now = Date.now();
    const version = (name: string): FileVersion =>
      name.startsWith(DATA) ? this.#textVersion(name) : files.version(name, now);
    const versions = pairs.map(({ certificate, key }) => ({
      certificate: version(certificate),
      key: version(key),
    }));
    const id = [this.#idOf(plan), ...versions.flatMap(({ certificate, key }) => [certificate.id, key.id])];
    const known = this.#kept.get(id.join(' ')) ?? withPairs(plan, versions);
    this.#kept.set(id.join(' '), known);
    return known;
  }

  /** The same text is the same object each time, so that nothing long is compared. */
  #textVersion(text: string): FileVersion {
    const id = this.#textIds.get(text) ?? ++this.#lastId;
    this.#textIds.set(text, id);
    return { path: DATA, id: `${DATA} ${id}`, text: () => text.slice(DATA.length) };
  }

  #idOf(plan: TlsPlan): number {
    const id = this.#ids.get(plan) ?? ++this.#lastId;
    this.#ids.set(plan, id);
    return id;
  }
}

function withPairs(plan: TlsPlan, pairs: readonly PairVersions[]): TlsPlan {
  const { passwords } = plan;
  const read = pairs.map((pair) => {
    const certificate = readCertificate(nameOf(pair.certificate), contentOf(pair.certificate));
    const key = readKey(nameOf(pair.key), { certificate, passwords, read: contentOf(pair.key) });
    return { certificate, key };
  });
  return {
    ...plan,
    sessionContext: sessionContextOf(plan),
    certificates: [...plan.certificates, ...read.map(({ certificate }) => certificate)],
    keys: [...plan.keys, ...read.map(({ key }) => key)],
  };
}

const nameOf = ({ path }: FileVersion): FileName => ({ text: path, path });
const contentOf = (file: FileVersion) => (): Buffer => Buffer.from(file.text());
