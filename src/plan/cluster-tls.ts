import type { Report, Span } from '../../grammar/index.ts';
import type { ResolvedConfigs } from '../config/index.ts';
import { configOf, type FileName } from '../contract/index.ts';
import type { EndpointTls } from '../redis/index.ts';
import { readCertificate, readerOf, readKey, TlsFault } from '../system/index.ts';

type FileField = 'sslTrustedCertificate' | 'sslCertificate' | 'sslCertificateKey';

/** Returns the TLS settings for a cluster's store, with all files read; `undefined` after reporting a fault. */
export function planClusterTls(level: ResolvedConfigs, report: Report): EndpointTls | undefined {
  const config = configOf(level, 'cluster');
  const read = readerOf(report);
  let hasFailed = false;
  const attempt = (field: FileField, act: (file: FileName) => string): string | undefined => {
    const file = config[field];
    try {
      return file && act(file);
    } catch (error) {
      if (!(error instanceof TlsFault)) throw error;
      hasFailed = true;
      report.emerg(error.message, clusterSpan(level, field), { rule: error.rule });
      return undefined;
    }
  };
  const ca = attempt('sslTrustedCertificate', (file) => readCertificate(file, read));
  const cert = attempt('sslCertificate', (file) => {
    if (config.sslCertificateKey) return readCertificate(file, read);
    throw new TlsFault(`no "ssl_certificate_key" is defined for certificate "${file.text}"`);
  });
  const key = attempt('sslCertificateKey', (file) => {
    if (!config.sslCertificate)
      throw new TlsFault(`no "ssl_certificate" is defined for certificate key "${file.text}"`);
    return cert === undefined ? '' : readKey(file, { certificate: cert, passwords: [], read }).pem;
  });
  if (hasFailed) return undefined;
  const { sslName: servername, sslVerify: verify } = config;
  return {
    verify,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
    ...(servername !== undefined && { servername }),
  };
}

/** Returns the span of the first directive about TLS in a `cluster` block, if it has one. */
export function clusterTlsSpan(level: ResolvedConfigs): Span | undefined {
  const fields = ['sslTrustedCertificate', 'sslCertificate', 'sslCertificateKey', 'sslName', 'sslVerify'];
  return fields.map((field) => clusterSpan(level, field)).find((span) => span !== undefined);
}

/** Returns the span of the directive that sets a field of a `cluster` block, if it is set. */
export function clusterSpan(level: ResolvedConfigs, field: string): Span | undefined {
  return level.get('cluster')?.from.get(field)?.spans[0];
}
