import type { TlsConfig } from '../client/index.ts';
import { mayCache } from '../cache/index.ts';
import type { ForwardingConfig } from './config.ts';
import { tlsFaults } from './tls-faults.ts';

/** Takes the faults of a location; see `ConfigReport`. */
export interface Report {
  phrase(
    field: 'buffers' | 'bufferSizeBytes' | 'busyBuffersBytes' | 'maxTempFileBytes' | 'store',
    message: string,
    options?: { readonly hint: string },
  ): void;
}

/** Checks the settings that all protocols share (nginx: ngx_http_…_merge_loc_conf). */
export function validateForwarding(prefix: string, config: ForwardingConfig, report: Report): void {
  validateBuffers(prefix, config, report);
  if (config.store === 'off' || !mayCache(config)) return;
  const message = `"${prefix}_store" directive is incompatible with "${prefix}_cache"`;
  report.phrase('store', message, { hint: `a location that writes files needs "${prefix}_cache off;"` });
}

/** Checks the buffer sizes against one another (nginx ngx_http_upstream_… merge functions). */
function validateBuffers(prefix: string, config: ForwardingConfig, report: Report): void {
  const { buffers, bufferSizeBytes, busyBuffersBytes, maxTempFileBytes } = config;
  if (buffers.number < 2) report.phrase('buffers', `there must be at least 2 "${prefix}_buffers"`);
  const largest = Math.max(bufferSizeBytes, buffers.sizeBytes);
  const busy = busyBuffersBytes ?? 2 * largest;
  const field = busyBuffersBytes === undefined ? 'bufferSizeBytes' : 'busyBuffersBytes';
  const both = `the maximum of the value of "${prefix}_buffer_size" and one of the "${prefix}_buffers"`;
  if (busy < largest)
    report.phrase(field, `"${prefix}_busy_buffers_size" must be equal to or greater than ${both}`);
  if (busy > (buffers.number - 1) * buffers.sizeBytes) {
    report.phrase(
      field,
      `"${prefix}_busy_buffers_size" must be less than the size of all "${prefix}_buffers" minus one buffer`,
    );
  }
  if (maxTempFileBytes !== 0 && maxTempFileBytes < largest) {
    report.phrase(
      'maxTempFileBytes',
      `"${prefix}_max_temp_file_size" must be equal to zero to disable temporary files usage or must be equal to or greater than ${both}`,
    );
  }
}

interface TlsReport {
  phrase(
    field: 'sslVerify' | 'sslCertificate' | 'sslCertificateKey' | 'sslConfCommands' | 'sslCrl',
    message: string,
    options?: { readonly rule?: string | undefined; readonly index?: number | undefined },
  ): void;
}

/** Checks that directives about TLS have the directives that they need (nginx: ngx_http_…_set_ssl). */
export function validateTls(prefix: string, config: TlsConfig, report: TlsReport): void {
  const { sslVerify, sslTrustedCertificate, sslCertificate, sslCertificateKey } = config;
  for (const { field, index, fault } of tlsFaults(config))
    report.phrase(field, fault.message, { rule: fault.rule, index });
  if (sslVerify && !sslTrustedCertificate?.path)
    report.phrase('sslVerify', `no ${prefix}_ssl_trusted_certificate for ${prefix}_ssl_verify`);
  if (!sslCertificate?.path || sslCertificateKey?.path) return;
  const message = `no "${prefix}_ssl_certificate_key" is defined for certificate "${sslCertificate.path}"`;
  report.phrase('sslCertificate', message);
}
