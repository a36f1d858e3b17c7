import { createHash } from 'node:crypto';
import type { Exchange } from '../../http/index.ts';
import { isObject } from '../../json.ts';
import type { TokenObject } from '../../tokens/index.ts';

/** `auth_jwt_bound`: whether the client must show the certificate that a token is bound to (RFC 8705, 3). */
export type Binding = 'auto' | 'required' | 'off';

/** Why a token does not fit the client that sent it. */
export type BindingFault = 'not bound' | 'bound to another' | 'bound otherwise';

const THUMBPRINT = 'x5t#S256';

/** Compares the certificate of the client with the one that a token names in `cnf`; `undefined`: they fit. */
export function bindingFault(
  { members }: TokenObject,
  binding: Binding,
  { request }: Exchange,
): BindingFault | undefined {
  if (binding === 'off') return undefined;
  const confirmation = Object.hasOwn(members, 'cnf') ? members['cnf'] : undefined;
  if (confirmation === undefined) return binding === 'required' ? 'not bound' : undefined;
  const isCertificate = isObject(confirmation) && Object.keys(confirmation).join() === THUMBPRINT;
  if (!isCertificate) return 'bound otherwise';
  const client = request.connection?.tls?.client;
  const thumbprint = client && createHash('sha256').update(client.certificate.raw).digest('base64url');
  return thumbprint !== undefined && thumbprint === confirmation[THUMBPRINT] ? undefined : 'bound to another';
}
