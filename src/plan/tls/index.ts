import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Report, Span } from '../../../grammar/index.ts';
import type { ResolvedConfigs } from '../../config/index.ts';
import { configOf, type FileName, type SslConfig } from '../../contract/index.ts';
import {
  readCertificate,
  readKey,
  readPasswords,
  readText,
  readTicketKey,
  reasonOf,
  TlsFault,
} from './files.ts';
import { readSettings } from './settings.ts';
import { secureContextOptions, type TlsPlan } from './tls-plan.ts';

export { secureContextOptions, verifierOf, type TlsPlan } from './tls-plan.ts';

/**
 * The TLS plan of a server, with all files read and tried; `undefined` for a server without TLS. Faults are reported at
 * their directive.
 */
export function planTls(level: ResolvedConfigs, report: Report): TlsPlan | undefined {
  const resolved = level.get('ssl');
  if (!resolved) return undefined;
  const config = configOf(level, 'ssl');
  const { certificates, rejectHandshake, verifyClient } = config;
  if (!certificates && !rejectHandshake && verifyClient === 'off') return undefined;
  const spanOf: SpanOf = (field, index = 0) => resolved.from.get(field)?.spans[index];
  return new TlsPlanner(config, report, spanOf).plan();
}

/** Whether a server can take part in a handshake, if only to reject it. */
export function canShakeHands(tls: TlsPlan | undefined): tls is TlsPlan {
  return tls !== undefined && (tls.certificates.length > 0 || tls.rejectHandshake);
}

type SpanOf = (field: keyof SslConfig, index?: number) => Span | undefined;

class TlsPlanner {
  readonly #config: SslConfig;
  readonly #report: Report;
  readonly #spanOf: SpanOf;
  #failed = false;

  constructor(config: SslConfig, report: Report, spanOf: SpanOf) {
    this.#config = config;
    this.#report = report;
    this.#spanOf = spanOf;
  }

  plan(): TlsPlan | undefined {
    const { certificates = [], keys = [], ...config } = this.#config;
    const passwords = this.#try('passwordFile', () => readPasswords(config.passwordFile)) ?? [];
    const pairs = certificates.map((file, index) => this.#pair(file, keys[index], { index, passwords }));
    const settings = this.#try(config.commands ? 'commands' : 'protocols', () => readSettings(this.#config));
    const dhParam = this.#text('dhParam', (path) => `BIO_new_file("${path}")`);
    const crl = this.#text('crl', (path) => `X509_LOOKUP_load_file("${path}")`);
    const ticketKey = config.ticketKeys?.map((file, index) =>
      this.#try('ticketKeys', () => readTicketKey(file), index),
    )[0];
    const authorities = this.#authorities();
    if (this.#failed || !settings) return undefined;
    const plan: TlsPlan = {
      ...settings,
      certificates: pairs.flatMap((pair) => pair?.certificate ?? []),
      keys: pairs.flatMap((pair) => pair?.key ?? []),
      sessionCache: config.sessionCache,
      sessionTimeoutSeconds: Math.ceil(config.sessionTimeoutMs / 1000),
      verify: config.verifyClient,
      verifyDepth: config.verifyDepth,
      authorities,
      rejectHandshake: config.rejectHandshake,
      ...(dhParam !== undefined && { dhParam }),
      ...(crl !== undefined && { crl }),
      ...(ticketKey !== undefined && { ticketKey }),
    };
    this.#tryContext(plan);
    return this.#failed ? undefined : plan;
  }

  #pair(
    file: FileName,
    keyFile: FileName | undefined,
    { index, passwords }: { index: number; passwords: readonly string[] },
  ): { certificate: string; key: TlsPlan['keys'][number] } | undefined {
    if (!keyFile) {
      const message = `no "ssl_certificate_key" is defined for certificate "${file.text}"`;
      this.#fail(new TlsFault(message), 'certificates', index);
      return undefined;
    }
    const certificate = this.#try('certificates', () => readCertificate(file), index);
    if (certificate === undefined) return undefined;
    const key = this.#try('keys', () => readKey(keyFile, { certificate, passwords }), index);
    return key && { certificate, key };
  }

  /** The authorities for client certificates. Like nginx, it reads them only if clients are verified. */
  #authorities(): readonly string[] {
    const { verifyClient, clientCertificate, trustedCertificate } = this.#config;
    if (verifyClient === 'off') return [];
    if (verifyClient !== 'optional_no_ca' && !clientCertificate && !trustedCertificate) {
      this.#fail(new TlsFault('no ssl_client_certificate for ssl_verify_client'), 'verifyClient');
    }
    const load = (path: string): string => `SSL_CTX_load_verify_locations("${path}")`;
    return (['clientCertificate', 'trustedCertificate'] as const).flatMap((field) => {
      const pem = this.#text(field, load);
      return pem === undefined ? [] : splitPem(pem);
    });
  }

  #text(
    field: 'dhParam' | 'crl' | 'clientCertificate' | 'trustedCertificate',
    what: (path: string) => string,
  ): string | undefined {
    const file = this.#config[field];
    return file && this.#try(field, () => readText(file, what));
  }

  /** Checks that OpenSSL accepts each setting, and all of them together. */
  #tryContext(plan: TlsPlan): void {
    const { certificates: cert, keys: key, ciphers, curves, dhParam, authorities, crl } = plan;
    const alone: readonly (readonly [keyof SslConfig, string, SecureContextOptions])[] = [
      ['ciphers', `SSL_CTX_set_cipher_list("${this.#config.ciphers}")`, { ciphers }],
      ['curves', `SSL_CTX_set1_curves_list("${curves}")`, { ecdhCurve: curves }],
      ['dhParam', 'PEM_read_bio_DHparams()', { dhparam: dhParam }],
      ['clientCertificate', 'SSL_CTX_load_verify_locations()', { ca: [...authorities] }],
      ['crl', 'X509_LOOKUP_load_file()', { crl }],
    ];
    for (const [field, what, options] of alone) {
      if (!this.#failed) this.#try(field, () => tryOptions(what, options));
    }
    if (this.#failed || cert.length + key.length === 0) return;
    this.#try('certificates', () => tryOptions('SSL_CTX_use_certificate()', secureContextOptions(plan)));
  }

  #try<T>(field: keyof SslConfig, read: () => T, index = 0): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof TlsFault)) throw error;
      this.#fail(error, field, index);
      return undefined;
    }
  }

  #fail({ message, rule }: TlsFault, field: keyof SslConfig, index = 0): void {
    this.#failed = true;
    const certificate = rule === 'key-mismatch' ? this.#spanOf('certificates', index) : undefined;
    this.#report.emerg(message, this.#spanOf(field, index), {
      rule,
      ...(certificate && { related: [{ span: certificate, label: 'its certificate' }] }),
    });
  }
}

function tryOptions(what: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new TlsFault(`${what} failed (SSL: ${reasonOf(error)})`);
  }
}

/** The certificates of a PEM text, one text each, as node:tls requires for authorities. */
function splitPem(pem: string): readonly string[] {
  return pem.match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^]*?-----END [A-Z0-9 ]*CERTIFICATE-----/g) ?? [pem];
}
