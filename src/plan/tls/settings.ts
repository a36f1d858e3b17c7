import { constants } from 'node:crypto';
import type { SecureVersion } from 'node:tls';
import type { SslConfig, TlsVersion } from '../../contract/index.ts';
import { TlsFault } from '../../system/index.ts';
import type { TlsPlan } from './tls-plan.ts';

/** The cipher suites of TLS 1.3, to which `ssl_ciphers` does not apply (nginx). */
const TLS_1_3_CIPHERS = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';

const VERSIONS: readonly SecureVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];
const NO_VERSION = {
  TLSv1: 'SSL_OP_NO_TLSv1',
  'TLSv1.1': 'SSL_OP_NO_TLSv1_1',
  'TLSv1.2': 'SSL_OP_NO_TLSv1_2',
  'TLSv1.3': 'SSL_OP_NO_TLSv1_3',
} as const;

type Bits = Extract<keyof typeof constants, `SSL_OP_${string}`>;

/** Names in the OpenSSL setting `Options` (SSL_CONF_cmd(3)), in any case; a `-` before a name clears the bits. */
const OPTIONS: ReadonlyMap<string, Bits | 'no effect'> = new Map([
  ['prioritizechacha', 'SSL_OP_PRIORITIZE_CHACHA'],
  ['serverpreference', 'SSL_OP_CIPHER_SERVER_PREFERENCE'],
  ['norenegotiation', 'SSL_OP_NO_RENEGOTIATION'],
  ['noresumptiononrenegotiation', 'SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION'],
  ['sessionticket', 'SSL_OP_NO_TICKET'],
  ['ktls', 'no effect'],
]);

/** The settings that need no files. */
type TlsSettings = Pick<
  TlsPlan,
  | 'ciphers'
  | 'honorCipherOrder'
  | 'minVersion'
  | 'maxVersion'
  | 'secureOptions'
  | 'curves'
  | 'signatureAlgorithms'
>;

type MutableSettings = { -readonly [K in keyof TlsSettings]: TlsSettings[K] } & { suites: string };

/** Returns the settings of the directives; `ssl_conf_command` is applied last. */
export function readSettings(config: SslConfig): TlsSettings {
  const versions = VERSIONS.filter((version) =>
    (config.protocols as readonly TlsVersion[]).includes(version),
  );
  const [minVersion, maxVersion] = [versions[0], versions.at(-1)];
  if (!minVersion || !maxVersion) throw new TlsFault('none of the "ssl_protocols" can be spoken');
  const between = VERSIONS.slice(VERSIONS.indexOf(minVersion), VERSIONS.indexOf(maxVersion));
  const holes = between.filter((version) => !versions.includes(version));
  const settings: MutableSettings = {
    ciphers: config.ciphers,
    suites: TLS_1_3_CIPHERS,
    honorCipherOrder: config.preferServerCiphers,
    minVersion,
    maxVersion,
    secureOptions: holes.reduce(
      (bits, version) => bits | constants[NO_VERSION[version]],
      constants.SSL_OP_NO_RENEGOTIATION | (config.sessionTickets ? 0 : constants.SSL_OP_NO_TICKET),
    ),
    curves: config.curves,
  };
  for (const [name, value] of config.commands ?? []) applyCommand(settings, name, value);
  const { suites, ...rest } = settings;
  return { ...rest, ciphers: `${suites}:${settings.ciphers}` };
}

function applyCommand(settings: MutableSettings, name: string, value: string): void {
  const known = name.toLowerCase();
  if (known === 'cipherstring') settings.ciphers = value;
  else if (known === 'ciphersuites') settings.suites = value;
  else if (known === 'curves' || known === 'groups') settings.curves = value;
  else if (known === 'signaturealgorithms') settings.signatureAlgorithms = value;
  else if (known === 'minprotocol' || known === 'maxprotocol') {
    const version = VERSIONS.find((one) => one === value);
    if (!version) throw new TlsFault(`SSL_CONF_cmd("${name}", "${value}") failed (SSL: bad value)`);
    settings[known === 'minprotocol' ? 'minVersion' : 'maxVersion'] = version;
  } else if (known === 'options') applyOptions(settings, value);
  else if (known !== 'certificate' && known !== 'privatekey')
    throw new TlsFault(`SSL_CONF_cmd("${name}", "${value}") failed (SSL: unknown cmd name:cmd=${name})`);
}

function applyOptions(settings: MutableSettings, value: string): void {
  for (const word of value.split(',')) {
    const isOff = word.startsWith('-');
    const name = word.replace(/^[+-]/, '').toLowerCase();
    const option = OPTIONS.get(name);
    // node:tls would set the bit again.
    if (name === 'serverpreference') settings.honorCipherOrder = !isOff;
    if (!option) throw new TlsFault(`SSL_CONF_cmd("Options", "${value}") failed (SSL: bad value)`);
    if (option === 'no effect') continue;
    // The bit of `SessionTicket` disables tickets, so its meaning is inverted.
    if (isOff === (name === 'sessionticket')) settings.secureOptions |= constants[option];
    else settings.secureOptions &= ~constants[option];
  }
}
