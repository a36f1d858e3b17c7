import { type LoadedFile, passphrasesIn, type TlsConfig } from '../client/index.ts';
import { oncePer } from '../config/index.ts';
import { readCertificate, readKey, splitPem, TlsFault, tryContext } from '../system/index.ts';

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
export function tlsFaults(config: TlsConfig): readonly FileFault[] {
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
function commandFile({ sslConfCommands = [] }: TlsConfig, command: string): Source | undefined {
  const index = sslConfCommands.findLastIndex(([name]) => name === command);
  const file = sslConfCommands[index]?.[2];
  return file && { field: 'sslConfCommands', index, file };
}

/** Locations that inherit a file share it, so each file is tried once. */
const certificateFault = oncePer((file: LoadedFile) => faultOf(() => readCertificate(file, contentOf(file))));

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
