import { mayCache } from '../cache/index.ts';
import { type LoadedFile, passphrasesIn, type TlsConfig } from '../client/index.ts';
import { oncePer } from '../config/index.ts';
import { readCertificate, readKey, splitPem, TlsFault, tryContext } from '../system/index.ts';
import type { ForwardingConfig } from './config.ts';

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
  const { sslVerify, sslTrustedCertificate } = config;
  if (sslVerify && !sslTrustedCertificate?.path)
    report.phrase('sslVerify', `no ${prefix}_ssl_trusted_certificate for ${prefix}_ssl_verify`);
  validateTlsFiles(prefix, config, report);
}

/** The directives that name the certificate that is shown to a peer, and the lists of those that are revoked. */
type TlsFiles = Pick<
  TlsConfig,
  'sslCertificate' | 'sslCertificateKey' | 'sslCrl' | 'sslPasswordFile' | 'sslConfCommands'
>;

/** Checks the contents of the files, and that a certificate has a key. */
export function validateTlsFiles(prefix: string, config: TlsFiles, report: TlsReport): void {
  const { sslCertificate, sslCertificateKey } = config;
  for (const { field, index, fault } of tlsFaults(config))
    report.phrase(field, fault.message, { rule: fault.rule, index });
  if (!sslCertificate?.path || sslCertificateKey?.path) return;
  const message = `no "${prefix}_ssl_certificate_key" is defined for certificate "${sslCertificate.path}"`;
  report.phrase('sslCertificate', message);
}

/** A fault of a file, and the directive that names it; `index` selects one of several. */
interface FileFault {
  readonly field: 'sslCertificate' | 'sslCertificateKey' | 'sslConfCommands' | 'sslCrl';
  readonly index?: number;
  readonly fault: TlsFault;
}

/** A file and the directive that names it. */
interface Source extends Omit<FileFault, 'fault'> {
  readonly file: LoadedFile;
}

/** Returns the faults of the files of `proxy_ssl_…`, in nginx's words. File names with variables are checked later. */
function tlsFaults(config: TlsFiles): readonly FileFault[] {
  const { sslCertificate, sslCertificateKey, sslCrl, sslPasswordFile } = config;
  const passwords = passphrasesIn(sslPasswordFile);
  const faults: FileFault[] = [];
  const attempt = (
    { file, ...source }: Source,
    faultOf: (file: LoadedFile) => TlsFault | undefined,
  ): void => {
    const fault = file.text === '' ? undefined : faultOf(file);
    if (fault) faults.push({ ...source, fault });
  };
  const pair = (certificate: Source, key: Source): void => {
    attempt(certificate, certificateFault);
    if (certificate.file.text !== '' && !certificateFault(certificate.file))
      attempt(key, (file) => keyFault({ key: file, certificate: certificate.file, passwords }));
  };
  if (sslCertificate && sslCertificateKey && !sslCertificate.named)
    pair(
      { field: 'sslCertificate', file: sslCertificate },
      { field: 'sslCertificateKey', file: sslCertificateKey },
    );
  const [certificate, key] = [commandFile(config, 'Certificate'), commandFile(config, 'PrivateKey')];
  if (certificate) pair(certificate, key ?? certificate);
  if (sslCrl) attempt({ field: 'sslCrl', file: sslCrl }, listFault);
  return faults;
}

/** Returns the file of an OpenSSL command; the last one counts. */
function commandFile({ sslConfCommands = [] }: TlsFiles, command: string): Source | undefined {
  const index = sslConfCommands.findLastIndex(([name]) => name === command);
  const file = sslConfCommands[index]?.[2];
  return file && { field: 'sslConfCommands', index, file };
}

/** Returns the fault of a certificate, if it has one. Locations that inherit a file share it, so each file is tried once. */
export const certificateFault = oncePer((file: LoadedFile) =>
  faultOf(() => readCertificate(file, contentOf(file))),
);

const listFault = oncePer((file: LoadedFile) =>
  faultOf(() =>
    tryContext(`X509_LOOKUP_load_file("${file.path}")`, { crl: [...splitPem(file.text, 'X509 CRL')] }),
  ),
);

interface OpenedKey {
  readonly key: LoadedFile;
  readonly certificate: LoadedFile;
  readonly passwords: readonly string[];
}

const opened = new WeakMap<LoadedFile, OpenedKey & { readonly fault: TlsFault | undefined }>();

function keyFault({ key, certificate, passwords }: OpenedKey): TlsFault | undefined {
  const known = opened.get(key);
  if (known?.certificate === certificate && known.passwords.join('\n') === passwords.join('\n'))
    return known.fault;
  const read = contentOf(key);
  const fault = faultOf(() => readKey(key, { certificate: certificate.text, passwords, read }));
  opened.set(key, { key, certificate, passwords, fault });
  return fault;
}

const contentOf =
  ({ text }: LoadedFile) =>
  (): Buffer =>
    Buffer.from(text);

function faultOf(read: () => unknown): TlsFault | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof TlsFault) return error;
    throw error;
  }
}
