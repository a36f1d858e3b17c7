import type { Rule } from '../../rule.ts';
import { weakProtocols } from './weak-protocols.ts';
import { weakCiphers } from './weak-ciphers.ts';
import { certificateExpiring } from './certificate-expiring.ts';
import { keyMismatch } from './key-mismatch.ts';
import { certificateName } from './certificate-name.ts';
import { noHsts } from './no-hsts.ts';
import { hstsOnHttp } from './hsts-on-http.ts';
import { noHttpRedirect } from './no-http-redirect.ts';
import { keyWorldReadable } from './key-world-readable.ts';
import { rejectHandshakeDefault } from './reject-handshake-default.ts';

/** TLS: GW5xx. */
export const TLS_RULES: readonly Rule[] = [
  weakProtocols,
  weakCiphers,
  certificateExpiring,
  keyMismatch,
  certificateName,
  noHsts,
  hstsOnHttp,
  noHttpRedirect,
  keyWorldReadable,
  rejectHandshakeDefault,
];
