import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { TlsPlan } from '../../../plan/index.ts';

/** Writes to the error log. */
type Note = (message: string) => void;

type Ocsp = typeof import('./ocsp/index.ts');
type Staple = InstanceType<Ocsp['Staple']>;
type ClientStatuses = InstanceType<Ocsp['ClientStatuses']>;

/** OCSP for the certificates of servers (`ssl_stapling`) and of clients (`ssl_ocsp`), asked by this worker. */
export class CertificateStatus {
  readonly #note: Note;
  readonly #staples = new WeakMap<TlsPlan, Map<string, Staple>>();
  readonly #clients = new Map<string, ClientStatuses>();

  constructor(note: Note) {
    this.#note = note;
  }

  /** Gives the response to staple to a certificate, in DER; `null`: there is none yet. Both certificates are in DER. */
  async stapleFor(plan: TlsPlan, der: Buffer, issuerDer: Buffer | null | undefined): Promise<Buffer | null> {
    const { stapling } = plan;
    if (!stapling) return null;
    const staples = this.#staples.get(plan) ?? new Map<string, Staple>();
    this.#staples.set(plan, staples);
    const id = der.toString('latin1');
    const staple = staples.get(id) ?? (await this.#newStaple(stapling, der, issuerDer));
    if (!staple) return null;
    staples.set(id, staple);
    return staple.take() ?? null;
  }

  async #newStaple(
    { responder, issuers }: NonNullable<TlsPlan['stapling']>,
    der: Buffer,
    issuerDer: Buffer | null | undefined,
  ): Promise<Staple | undefined> {
    const certificate = new X509Certificate(der);
    const known = issuers.map((pem) => new X509Certificate(pem));
    const issuer = issuerDer ? new X509Certificate(issuerDer) : issuerOf(certificate, known);
    if (!issuer) return undefined;
    const { Staple } = await ocsp();
    return new Staple({ pair: { certificate, issuer }, responder, trusted: known }, (reason) =>
      this.#note(`${reason} while requesting certificate status`),
    );
  }

  /** Tells what is wrong with the status of a client's certificates, in nginx's words; `undefined`: nothing. */
  async faultOf(socket: TLSSocket, plan: TlsPlan): Promise<string | undefined> {
    const rules = plan.ocsp;
    const chain = rules && socket.authorized ? chainOf(socket.getPeerCertificate(true)) : [];
    if (!rules || chain.length === 0) return undefined;
    const authorities = plan.authorities.map((pem) => new X509Certificate(pem));
    const asked = chain
      .slice(0, rules.mode === 'leaf' ? 1 : chain.length)
      .filter((certificate) => !isOwnIssuer(certificate));
    try {
      const statuses = await this.#statusesOf(rules);
      for (const certificate of asked) {
        const issuer = issuerOf(certificate, [...chain, ...authorities]);
        if (!issuer) throw new Error('the issuer of a client certificate is missing');
        const question = { pair: { certificate, issuer }, responder: rules.responder, trusted: [] };
        const status = await statuses.of(question);
        if (status !== 'good') return `certificate ${status === 'revoked' ? status : 'status unknown'}`;
      }
      return undefined;
    } catch (error) {
      this.#note(`${(error as Error).message} while requesting certificate status`);
      return 'certificate status request failed';
    }
  }

  async #statusesOf({ cache }: NonNullable<TlsPlan['ocsp']>): Promise<ClientStatuses> {
    const { ClientStatuses } = await ocsp();
    const known = this.#clients.get(cache.name) ?? new ClientStatuses(cache.entries);
    this.#clients.set(cache.name, known);
    return known;
  }
}

/** Loaded when a configuration needs it: most do not. */
const ocsp = (): Promise<Ocsp> => import('./ocsp/index.ts');

/** The certificates of a client from its own to the last one that is known. */
function chainOf(leaf: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  // Contrary to the types, a client may have no certificate, and the last certificate no issuer.
  let at = leaf as Partial<DetailedPeerCertificate> | undefined;
  while (at?.raw && chain.length < MOST_CERTIFICATES) {
    chain.push(new X509Certificate(at.raw));
    at = at.issuerCertificate === at ? undefined : at.issuerCertificate;
  }
  return chain;
}

const MOST_CERTIFICATES = 100;

function issuerOf(
  certificate: X509Certificate,
  candidates: readonly X509Certificate[],
): X509Certificate | undefined {
  return candidates.find(
    (candidate) =>
      candidate.raw !== certificate.raw &&
      certificate.checkIssued(candidate) &&
      certificate.verify(candidate.publicKey),
  );
}

function isOwnIssuer(certificate: X509Certificate): boolean {
  return certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey);
}
