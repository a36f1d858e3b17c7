import { X509Certificate } from 'node:crypto';
import type { TlsPlan } from '../../../plan/index.ts';
import { splitPem } from '../../../system/index.ts';
import { isOwnIssuer, issuerOf } from './client-certificates.ts';

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

  /** Returns the response to staple to a certificate, in DER; `null` if there is none yet. `pem` includes the chain. */
  async stapleFor(plan: TlsPlan, pem: string): Promise<Buffer | null> {
    const { stapling } = plan;
    if (!stapling) return null;
    const staples = this.#staples.get(plan) ?? new Map<string, Staple>();
    this.#staples.set(plan, staples);
    const staple = staples.get(pem) ?? (await this.#newStaple(stapling, pem));
    if (!staple) return null;
    staples.set(pem, staple);
    return staple.take() ?? null;
  }

  async #newStaple(
    { responder, issuers }: NonNullable<TlsPlan['stapling']>,
    pem: string,
  ): Promise<Staple | undefined> {
    const certificate = new X509Certificate(pem);
    const known = issuers.map((issuer) => new X509Certificate(issuer));
    const chain = splitPem(pem, 'CERTIFICATE').map((one) => new X509Certificate(one));
    const issuer = issuerOf(certificate, [...chain, ...known]);
    if (!issuer) return undefined;
    const { Staple } = await ocsp();
    return new Staple({ pair: { certificate, issuer }, responder, trusted: known }, (reason) =>
      this.#note(`${reason} while requesting certificate status`),
    );
  }

  /**
   * Returns the fault in the status of a client's certificates, in nginx's words; `undefined` if there is none.
   * `authorities` may have signed the last certificate of the chain.
   */
  async faultOf(
    chain: readonly X509Certificate[],
    rules: NonNullable<TlsPlan['ocsp']>,
    authorities: readonly X509Certificate[],
  ): Promise<string | undefined> {
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

/** Loaded when a configuration needs it. Most do not. */
const ocsp = (): Promise<Ocsp> => import('./ocsp/index.ts');
