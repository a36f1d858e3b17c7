import type { SecureContextOptions } from 'node:tls';
import { passphraseOf, splitPem } from './certificates.ts';

/** What a client's TLS connections are made with. Certificates, keys and lists are texts in PEM. */
export interface ContextSettings {
  /** The authorities for the peer's certificate; default: those of Node.js. */
  readonly ca?: string;
  readonly crl?: string;
  readonly cert?: string;
  readonly key?: string;
  /** One of them decrypts the key, if it is encrypted. */
  readonly passphrases?: readonly string[];
  readonly ciphers?: string;
  readonly ciphersuites?: string;
  readonly groups?: string;
  readonly minVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly maxVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
}

/** Returns the settings as options of node:tls. */
export function contextOptions(settings: ContextSettings): SecureContextOptions {
  const { ca, crl, cert, key, passphrases = [], ciphers, ciphersuites, groups } = settings;
  const { minVersion, maxVersion } = settings;
  const passphrase = key === undefined ? undefined : passphraseOf(key, passphrases);
  const all = [ciphersuites, ciphers].filter((one) => one !== undefined);
  return {
    ...(all.length > 0 && { ciphers: all.join(':') }),
    ...(minVersion && { minVersion }),
    ...(maxVersion && { maxVersion }),
    ...(ca !== undefined && { ca }),
    ...(crl !== undefined && { crl: [...splitPem(crl, 'X509 CRL')] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(passphrase !== undefined && { passphrase }),
    ...(groups !== undefined && { ecdhCurve: groups }),
  };
}
