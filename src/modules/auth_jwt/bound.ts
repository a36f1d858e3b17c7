import { createHash, X509Certificate } from 'node:crypto';
import type { Build } from '../../contract/index.ts';
import { type Exchange, TRUSTED_PEER } from '../../http/index.ts';
import { isObject } from '../../json.ts';
import type { TokenObject } from '../../tokens/index.ts';
import type { ComplexValue } from '../../config/index.ts';

/** `auth_jwt_bound`: whether the client must show the certificate that a token is bound to (RFC 8705, 3). */
export type Binding = 'auto' | 'required' | 'off';

/** What a location demands of bound tokens. */
interface BindingConfig {
  readonly bound: Binding;
  /** The certificate of the client that a trusted proxy forwards. */
  readonly clientCertificate?: ComplexValue;
}

/** Why a token does not fit the client that sent it. */
export type BindingFault = 'not bound' | 'bound to another' | 'bound otherwise';

const THUMBPRINT = 'x5t#S256';

/** Compiles the comparison of the client's certificate with the one that a token names in `cnf`; `undefined`: they fit. */
export function compileBinding(
  config: BindingConfig,
  build: Build,
): (x: Exchange, claims: TokenObject) => BindingFault | undefined {
  const { bound: binding } = config;
  if (binding === 'off') return () => undefined;
  const thumbprintOf = compileThumbprint(config, build);
  return (x, { members }) => {
    const confirmation = Object.hasOwn(members, 'cnf') ? members['cnf'] : undefined;
    if (confirmation === undefined) return binding === 'required' ? 'not bound' : undefined;
    const isCertificate = isObject(confirmation) && Object.keys(confirmation).join() === THUMBPRINT;
    if (!isCertificate) return 'bound otherwise';
    const thumbprint = thumbprintOf(x);
    return thumbprint !== undefined && thumbprint === confirmation[THUMBPRINT]
      ? undefined
      : 'bound to another';
  };
}

/** Compiles the SHA-256 of the client's certificate: that of its connection, or the one that a trusted proxy forwards. */
function compileThumbprint(
  { clientCertificate }: BindingConfig,
  build: Build,
): (x: Exchange) => string | undefined {
  const forwarded = clientCertificate && build.value(clientCertificate);
  return (x) => {
    const own = x.request.connection?.tls?.client?.certificate.raw;
    if (own || !forwarded || x.main.state(TRUSTED_PEER) !== true) return own && digestOf(own);
    const der = forwardedCertificate(forwarded(x));
    return der && digestOf(der);
  };
}

function digestOf(der: Buffer): string {
  return createHash('sha256').update(der).digest('base64url');
}

const BYTES = /^:([A-Za-z0-9+/]+={0,2}):$/;

/** The bytes of a certificate: those of RFC 9440, 2.2, or PEM with escapes as nginx has it in `$ssl_client_escaped_cert`. */
function forwardedCertificate(text: string): Buffer | undefined {
  try {
    const [, base64] = BYTES.exec(text) ?? [];
    const der = base64 === undefined ? decodeURIComponent(text) : Buffer.from(base64, 'base64');
    return new X509Certificate(der).raw;
  } catch {
    return undefined;
  }
}
