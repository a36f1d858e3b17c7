import { randomBytes } from 'node:crypto';
import { moduleFor, TICKET_KEY } from '../../contract/index.ts';
import type { SslConfig } from '../../contract/index.ts';
import { directives } from './directives.ts';
import { variables } from './variables.ts';

const TICKET_KEY_BYTES = 48;

/** TLS for clients: the words of it. The plan reads the files, the node engine shakes hands. */
export const ssl = moduleFor<SslConfig>()({
  name: 'ssl',
  directives,
  variables,
  enabled: ({ certificates }) => certificates !== undefined,

  validate({ ocsp }, report) {
    if (ocsp === 'off') return;
    const predicate = 'is accepted without effect: revoked certificates are known by "ssl_crl" only';
    report.warn('ocsp', predicate, { rule: 'ignored-directive' });
  },

  /** A ticket that one worker gave is good with all of them. */
  prepare(_, master) {
    master.provide(TICKET_KEY, randomBytes(TICKET_KEY_BYTES).toString('base64'));
  },

  compile: () => ({}),
});
