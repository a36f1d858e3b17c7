import type { ComplexValue } from '../config/index.ts';
import type { NamedFile } from '../http/index.ts';
import type { CertificateCache } from '../system/index.ts';
import type { TlsSettings } from './connector.ts';

/** A file that was read at load time; its path is absolute. */
export interface LoadedFile {
  readonly path: string;
  readonly text: string;
  /** Set if the name depends on the request: the file was not read, and `path` is the text of the directive. */
  readonly named?: NamedFile;
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** `proxy_ssl_*`. */
export interface TlsConfig {
  readonly sslVerify: boolean;
  readonly sslVerifyDepth: number;
  readonly sslName: ComplexValue;
  readonly sslServerName: boolean;
  readonly sslProtocols: readonly TlsVersion[];
  readonly sslCiphers: string;
  readonly sslSessionReuse: boolean;
  readonly sslTrustedCertificate?: LoadedFile;
  readonly sslCrl?: LoadedFile;
  readonly sslCertificate?: LoadedFile;
  readonly sslCertificateKey?: LoadedFile;
  /** For files whose names contain variables. */
  readonly sslCertificateCache: CertificateCache | 'off';
  readonly sslPasswordFile?: LoadedFile;
  /** `Certificate` and `PrivateKey` have a file. */
  readonly sslConfCommands?: readonly (readonly [name: string, value: string, file?: LoadedFile])[];
}

const VERSIONS: readonly TlsVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** The directives that determine the settings. */
type SettingsConfig = Omit<TlsConfig, 'sslName' | 'sslServerName' | 'sslCertificateCache'>;

/** Returns the settings of connections for the directives of a location. */
export function tlsSettings(config: SettingsConfig): TlsSettings {
  const command = new Map(config.sslConfCommands?.map(([name, value, file]) => [name, file?.text ?? value]));
  const certificate = command.get('Certificate');
  const [lowest = 'TLSv1.2'] = VERSIONS.filter((version) => config.sslProtocols.includes(version));
  const highest = VERSIONS.findLast((version) => config.sslProtocols.includes(version)) ?? 'TLSv1.3';
  return {
    passphrases: passphrasesIn(config.sslPasswordFile),
    ciphers: command.get('CipherString') ?? config.sslCiphers,
    minVersion: versionOf(command.get('MinProtocol')) ?? lowest,
    maxVersion: versionOf(command.get('MaxProtocol')) ?? highest,
    verify: config.sslVerify,
    verifyDepth: config.sslVerifyDepth,
    reuseSessions: config.sslSessionReuse,
    ...textOf('ca', config.sslTrustedCertificate?.text),
    ...textOf('crl', config.sslCrl?.text),
    ...textOf('cert', certificate ?? config.sslCertificate?.text),
    ...textOf('key', command.get('PrivateKey') ?? certificate ?? config.sslCertificateKey?.text),
    ...textOf('ciphersuites', command.get('Ciphersuites')),
    ...textOf('groups', command.get('Groups') ?? command.get('Curves')),
  };
}

/** Returns the passphrases of `proxy_ssl_password_file`, one on each line. */
export function passphrasesIn(file: LoadedFile | undefined): readonly string[] {
  return file?.text.split('\n').filter(Boolean) ?? [];
}

function versionOf(name: string | undefined): TlsVersion | undefined {
  return VERSIONS.find((version) => version === name);
}

function textOf<K extends string>(field: K, text: string | undefined): Partial<Record<K, string>> {
  return (text === undefined || text === '' ? {} : { [field]: text }) as Partial<Record<K, string>>;
}
