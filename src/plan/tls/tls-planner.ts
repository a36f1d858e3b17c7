import { X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import type { Report, Span } from '../../../grammar/index.ts';
import type { ResolvedConfigs } from '../../config/index.ts';
import { configOf, type FileName, type SslConfig } from '../../contract/index.ts';
import {
  ocspResponderOf,
  openKey,
  readCertificate,
  readerOf,
  type ReadFile,
  readKey,
  readText,
  splitPem,
  systemFailure,
  systemReason,
  TlsFault,
  tryContext,
} from '../../system/index.ts';
import { readSettings } from './settings.ts';
import { secureContextOptions, type TlsPlan } from './tls-plan.ts';

/**
 * Returns the TLS plan of a server, with all files read and tried; `undefined` for a server without TLS. Faults are
 * reported at their directives.
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

type SpanOf = (field: keyof SslConfig, index?: number) => Span | undefined;

class TlsPlanner {
  readonly #config: SslConfig;
  readonly #report: Report;
  readonly #spanOf: SpanOf;
  readonly #read: ReadFile;
  #failed = false;

  constructor(config: SslConfig, report: Report, spanOf: SpanOf) {
    this.#config = config;
    this.#report = report;
    this.#spanOf = spanOf;
    this.#read = readerOf(report);
  }

  plan(): TlsPlan | undefined {
    const { certificates = [], keys = [], ...config } = this.#config;
    const passwords = this.#try('passwordFile', () => readPasswords(config.passwordFile, this.#read)) ?? [];
    const pairs = lastOfEachType([
      ...certificates.map((file, index) => this.#pair(file, keys[index], { index, passwords })),
      this.#commandPair(passwords),
    ]);
    const settings = this.#try(config.commands ? 'commands' : 'protocols', () => readSettings(this.#config));
    const dhParam = this.#text('dhParam', (path) => `BIO_new_file("${path}")`);
    const crl = this.#text('crl', (path) => `X509_LOOKUP_load_file("${path}")`);
    const { staplingFile } = config;
    const staple = staplingFile && this.#try('staplingFile', () => readStaple(staplingFile, this.#read));
    const ticketKey = config.ticketKeys?.map((file, index) =>
      this.#try('ticketKeys', () => readTicketKey(file, this.#read), index),
    )[0];
    const authorities = this.#authorities();
    if (this.#failed || !settings) return undefined;
    const plan: TlsPlan = {
      ...settings,
      ...contentsOf(pairs),
      named: certificates.flatMap((file, index) => namedPair(file, keys[index]) ?? []),
      passwords,
      certificateCache: config.certificateCache,
      sessionCache: config.sessionCache,
      sessionTimeoutSeconds: Math.ceil(config.sessionTimeoutMs / 1000),
      verify: config.verifyClient,
      verifyDepth: config.verifyDepth,
      authorities,
      rejectHandshake: config.rejectHandshake,
      ...(dhParam !== undefined && { dhParam }),
      ...this.#stapling(pairs),
      ...this.#ocsp(),
      crls: crl === undefined ? [] : splitPem(crl, 'X509 CRL'),
      ...(staple !== undefined && { staple }),
      ...(ticketKey !== undefined && { ticketKey }),
    };
    this.#tryContext(plan);
    return this.#failed ? undefined : plan;
  }

  #pair(
    file: FileName,
    keyFile: FileName | undefined,
    { index, passwords }: { index: number; passwords: readonly string[] },
  ): Pair | undefined {
    if (namedPair(file, keyFile)) return undefined;
    if (!keyFile) {
      const message = `no "ssl_certificate_key" is defined for certificate "${file.text}"`;
      this.#fail(new TlsFault(message), 'certificates', index);
      return undefined;
    }
    const certificate = this.#try('certificates', () => readCertificate(file, this.#read), index);
    if (certificate === undefined) return undefined;
    const key = this.#try(
      'keys',
      () => readKey(keyFile, { certificate, passwords, read: this.#read }),
      index,
    );
    return key && { name: file.text, certificate, key };
  }

  /** Returns the pair of `ssl_conf_command Certificate` and `PrivateKey`, which replaces a pair of directives. */
  #commandPair(passwords: readonly string[]): Pair | undefined {
    const files = new Map(this.#config.commands?.map(([name, , file]) => [name.toLowerCase(), file]));
    const [certificateFile, keyFile] = [files.get('certificate'), files.get('privatekey')];
    if (!certificateFile) return undefined;
    return this.#try('commands', () => {
      const certificate = readCertificate(certificateFile, this.#read);
      return {
        name: certificateFile.text,
        certificate,
        key: readKey(keyFile ?? certificateFile, { certificate, passwords, read: this.#read }),
      };
    });
  }

  /** Returns the authorities for client certificates. As in nginx, they are read only if clients are verified. */
  #authorities(): readonly string[] {
    const { verifyClient, clientCertificate, trustedCertificate } = this.#config;
    if (verifyClient === 'off') return [];
    // A server without a certificate uses the default server's, and requests no client certificate.
    const shakesHands = this.#config.certificates !== undefined || this.#config.rejectHandshake;
    const isNeeded = verifyClient !== 'optional_no_ca' && shakesHands;
    if (isNeeded && !clientCertificate && !trustedCertificate) {
      this.#fail(new TlsFault('no ssl_client_certificate for ssl_verify_client'), 'verifyClient');
    }
    const load = (path: string): string => `SSL_CTX_load_verify_locations("${path}")`;
    const authorities = (['clientCertificate', 'trustedCertificate'] as const).flatMap((field) => {
      const pem = this.#text(field, load);
      return pem === undefined ? [] : splitPem(pem, 'CERTIFICATE');
    });
    // An authority that the file has twice is announced to clients once.
    return [...new Map(authorities.map((pem) => [pem.replaceAll(/\s/g, ''), pem])).values()];
  }

  /** As in nginx, `ssl_stapling` is ignored with a warning if there is no responder to ask. */
  #stapling(pairs: readonly Pair[]): Pick<TlsPlan, 'stapling'> {
    const { stapling, staplingFile, staplingResponder: responder, certificates = [] } = this.#config;
    if (!stapling || staplingFile) return {};
    const trusted = this.#text('trustedCertificate', (path) => `SSL_CTX_load_verify_locations("${path}")`);
    const issuers = [...pairs.map(({ certificate }) => certificate), trusted ?? ''].flatMap((pem) =>
      pem === '' ? [] : splitPem(pem, 'CERTIFICATE'),
    );
    const faults = pairs.map(({ certificate }) =>
      staplingFault(new X509Certificate(certificate), { responder, issuers }),
    );
    for (const [index, fault] of faults.entries()) {
      const file = certificates[index]?.path ?? '';
      const span = this.#spanOf('stapling');
      if (fault) this.#report.warn(`"ssl_stapling" ignored, ${fault} certificate "${file}"`, span);
    }
    return faults.includes(undefined) ? { stapling: { responder, issuers } } : {};
  }

  #ocsp(): Pick<TlsPlan, 'ocsp'> {
    const { ocsp: mode, ocspResponder: responder, ocspCache: cache, verifyClient } = this.#config;
    return mode === 'off' || verifyClient === 'off' ? {} : { ocsp: { mode, responder, cache } };
  }

  #text(
    field: 'dhParam' | 'crl' | 'clientCertificate' | 'trustedCertificate',
    what: (path: string) => string,
  ): string | undefined {
    const file = this.#config[field];
    return file && this.#try(field, () => readText(file, what, this.#read));
  }

  /** Checks that OpenSSL accepts each setting, and all of them together. */
  #tryContext(plan: TlsPlan): void {
    const { certificates: cert, keys: key, ciphers, curves, dhParam, authorities, crls } = plan;
    const alone: readonly (readonly [keyof SslConfig, string, SecureContextOptions])[] = [
      ['ciphers', `SSL_CTX_set_cipher_list("${this.#config.ciphers}")`, { ciphers }],
      ['curves', `SSL_CTX_set1_curves_list("${curves}")`, { ecdhCurve: curves }],
      ['dhParam', 'PEM_read_bio_DHparams()', { dhparam: dhParam }],
      ['clientCertificate', 'SSL_CTX_load_verify_locations()', { ca: [...authorities] }],
      ['crl', 'X509_LOOKUP_load_file()', crls.length > 0 ? { crl: [...crls] } : {}],
    ];
    for (const [field, what, options] of alone) {
      if (!this.#failed) this.#try(field, () => tryContext(what, options));
    }
    if (this.#failed || cert.length + key.length === 0) return;
    this.#try('certificates', () => tryContext('SSL_CTX_use_certificate()', secureContextOptions(plan)));
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

/** Returns the reason why no OCSP response for a certificate is available, in nginx's words. */
function staplingFault(
  certificate: X509Certificate,
  { responder, issuers }: NonNullable<TlsPlan['stapling']>,
): string | undefined {
  const mayBeIssuer = (pem: string): boolean => certificate.checkIssued(new X509Certificate(pem));
  if (!issuers.some(mayBeIssuer)) return 'issuer certificate not found for';
  if (responder !== undefined && !/^http:\/\/[^/]/i.test(responder))
    return `invalid URL prefix in OCSP responder "${responder}" in the`;
  return (responder ?? ocspResponderOf(certificate)) ? undefined : 'no OCSP responder URL in the';
}

/** A certificate with its chain, and its key. */
interface Pair {
  /** The file of the certificate as written. */
  readonly name: string;
  readonly certificate: string;
  readonly key: TlsPlan['keys'][number];
}

function contentsOf(pairs: readonly Pair[]): Pick<TlsPlan, 'certificates' | 'names' | 'keys'> {
  return {
    certificates: pairs.map(({ certificate }) => certificate),
    names: pairs.map(({ name }) => name),
    keys: pairs.map(({ key }) => key),
  };
}

/** Returns the last pair of each key type: as in OpenSSL, it replaces the earlier ones. */
function lastOfEachType(pairs: readonly (Pair | undefined)[]): readonly Pair[] {
  const byType = new Map<string | undefined, Pair>();
  for (const pair of pairs) {
    if (!pair) continue;
    const type = openKey(pair.key.pem, pair.key.passphrase).asymmetricKeyType;
    byType.delete(type);
    byType.set(type, pair);
  }
  return [...byType.values()];
}

/** Returns the file names of a pair if one of them depends on the client. */
function namedPair(certificate: FileName, key: FileName | undefined): TlsPlan['named'][number] | undefined {
  if (!key || !(certificate.named ?? key.named)) return undefined;
  return { certificate: certificate.text, key: key.text };
}

/** Reads a file with one password per line. */
function readPasswords(file: FileName | undefined, read?: ReadFile): readonly string[] {
  if (!file) return [];
  return readText(file, (path) => `open() "${path}"`, read)
    .split(/\r?\n/)
    .filter((line) => line !== '');
}

/** Returns the OCSP response in a file, in base64. */
function readStaple(file: FileName, read: ReadFile): string {
  try {
    return read(file.path).toString('base64');
  } catch (error) {
    throw new TlsFault(`BIO_new_file("${file.path}") failed (${systemReason(error)})`);
  }
}

/** Returns the ticket key in the form of node:tls, in base64: name, HMAC key, AES key of 16 bytes each. */
function readTicketKey(file: FileName, read: ReadFile): string {
  let bytes: Buffer;
  try {
    bytes = read(file.path);
  } catch (error) {
    throw new TlsFault(systemFailure('open', file.path, error));
  }
  if (bytes.length !== 48 && bytes.length !== 80) throw new TlsFault(`"${file.path}" must be 48 or 80 bytes`);
  // nginx's files have a name, AES key and HMAC key of 16 bytes each, or a name, HMAC key and AES key of 16, 32 and 32.
  const [hmacAt, aesAt] = bytes.length === 48 ? [32, 16] : [16, 48];
  const parts = [0, hmacAt, aesAt].map((at) => bytes.subarray(at, at + 16));
  return Buffer.concat(parts).toString('base64');
}
