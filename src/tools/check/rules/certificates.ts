import { isIP } from 'node:net';
import { type DirectiveNode, namesText, type Word } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { type CheckedConfig, type Example, type Problem, type Rule } from '../../../contract/index.ts';
import {
  certificatesOf,
  clientCertificatesOf,
  type ShownCertificate,
  socketsOf,
  sslOf,
  tlsServers,
} from '../servers.ts';

/** A server over TLS, for the examples. */
export const SHOP = {
  text: 'listen 127.0.0.1:8443 ssl;\nserver_name shop.example;\nssl_certificate shop.crt;\nssl_certificate_key shop.key;',
  files: {
    'shop.crt': { names: ['shop.example'], days: 90 },
    'shop.key': { keyOf: 'shop.crt' },
  },
} as const satisfies Example;

const DAY_MS = 86_400_000;
/** Days before expiry at which a renewal is overdue: certificates are usually renewed a month before. */
const SOON_DAYS = 21;

const certificateExpiring: Rule = {
  id: 'GW503',
  slug: 'certificate-expiring',
  severity: 'warning',
  summary: 'a certificate that has expired, or will within three weeks',
  why: 'Browsers refuse the site once it has expired; upstreams refuse gw, where it is the certificate of gw.',
  fix: 'Renew it and reload; check why it was not renewed in time.',
  bad: {
    text: SHOP.text,
    files: { ...SHOP.files, 'shop.crt': { names: ['shop.example'], days: 10 } },
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    const shown = [...tlsServers(config).flatMap(certificatesOf), ...clientCertificatesOf(config)];
    for (const { node, file, certificate } of shown) {
      const fault = expiryFault(certificate.validFrom, certificate.validTo);
      if (fault === undefined || told.has(node)) continue;
      told.add(node);
      yield { at: node, ...fault, message: `certificate "${file.text}" ${fault.message}` };
    }
  },
};

function expiryFault(from: string, to: string): Pick<Problem, 'message' | 'severity'> | undefined {
  const now = Date.now();
  const [start, end] = [Date.parse(from), Date.parse(to)];
  if (start > now) return { message: `is not valid before ${dayOf(start)}` };
  // Browsers refuse the site now.
  if (end <= now) return { message: `expired on ${dayOf(end)}`, severity: 'error' };
  const days = Math.floor((end - now) / DAY_MS);
  if (days >= SOON_DAYS) return undefined;
  return { message: `expires in ${days === 1 ? '1 day' : `${days} days`}, on ${dayOf(end)}` };
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const keyMismatch: Rule = {
  id: 'GW504',
  slug: 'key-mismatch',
  severity: 'error',
  summary: 'a key that does not belong to its certificate',
  why: 'No handshake could succeed, so the configuration does not load.',
  fix: 'Name the key with which the certificate was requested. A renewal may replace both files.',
  bad: {
    text: SHOP.text,
    files: {
      ...SHOP.files,
      'old.crt': { names: ['shop.example'], days: 90 },
      'shop.key': { keyOf: 'old.crt' },
    },
  },
  good: SHOP,
};

const certificateName: Rule = {
  id: 'GW505',
  slug: 'certificate-name',
  severity: 'warning',
  summary: 'a server has a name that its certificate does not have',
  why: 'Browsers refuse the site under that name.',
  fix: 'Request a certificate for all names of the server.',
  bad: {
    text: SHOP.text.replace('server_name shop.example', 'server_name shop.example www.shop.example'),
    files: SHOP.files,
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of tlsServers(config)) {
      const shown = certificatesOf(server);
      const [first] = shown;
      if (!first) continue;
      const uncovered = namesOf(server).filter(
        ({ value }) => !shown.some(({ certificate }) => isCovered(value, certificate)),
      );
      for (const word of uncovered) yield nameProblem(word, first);
    }
  },
};

/** The names that a client can request in a handshake. */
function namesOf(server: BlockView): readonly Word[] {
  return server
    .own('server_name')
    .flatMap(({ args }: DirectiveNode) => args)
    .filter(({ value }) => /^(?:\*?\.)?[^.~_$*][^~$*]*\.[^.*]+$/.test(value) || isIP(value) > 0);
}

/**
 * Returns whether a certificate covers a name. `.example.org` means the name and its subdomains, which `*.example.org`
 * in a certificate covers.
 */
function isCovered(name: string, certificate: ShownCertificate['certificate']): boolean {
  if (isIP(name) > 0) return certificate.checkIP(name) !== undefined;
  const bare = name.replace(/^\*?\./, '');
  if (name === bare) return certificate.checkHost(name) !== undefined;
  return certificate.checkHost(`gw-check.${bare}`) !== undefined;
}

function nameProblem(word: Word, { node, file, certificate }: ShownCertificate): Problem {
  const names = (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.[1] ?? []);
  return {
    at: word.span,
    message: `"${word.value}" is not a name of certificate "${file.text}"`,
    hint: names.length > 0 ? `it has ${namesText(names)}` : 'it has no names (subjectAltName)',
    related: [{ span: node.span, label: 'the certificate' }],
  };
}

const SECOND_SERVER = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ').replace('server_name shop', 'server_name blog')}\n}`;
const FIRST_SERVER = `server {\n    ${SHOP.text.replaceAll('\n', '\n    ').replace(' ssl;', ' ssl default_server;')}\n}`;
const BOTH_NAMES = { ...SHOP.files, 'shop.crt': { names: ['shop.example', 'blog.example'], days: 90 } };

const rejectHandshakeDefault: Rule = {
  id: 'GW512',
  slug: 'reject-handshake-default',
  severity: 'info',
  summary: 'clients that ask for an unknown name get the certificate of a site',
  why: 'Scanners learn which sites are here, and the default site responds to requests for other names.',
  fix: 'Add a default server with "ssl_reject_handshake on".',
  bad: { in: 'http', text: `${FIRST_SERVER}\n${SECOND_SERVER}`, files: BOTH_NAMES },
  good: {
    in: 'http',
    text: `server {\n    listen 127.0.0.1:8443 ssl default_server;\n    ssl_reject_handshake on;\n}\n${SECOND_SERVER}`,
    files: BOTH_NAMES,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<BlockView>();
    for (const { listeners } of socketsOf(config)) {
      const chosen = listeners.find(({ listen }) => listen.defaultServer);
      const named = chosen?.server
        .own('server_name')
        .some(({ args }) => args.some(({ value }) => value.includes('.')));
      if (!chosen?.listen.ssl || listeners.length < 2 || named !== true) continue;
      if (sslOf(chosen.server).rejectHandshake || told.has(chosen.server)) continue;
      told.add(chosen.server);
      yield {
        at: chosen.node,
        message: 'clients that ask for an unknown name get the certificate of this server',
      };
    }
  },
};

/** The rules about certificates. */
export const CERTIFICATE_RULES: readonly Rule[] = [
  certificateExpiring,
  keyMismatch,
  certificateName,
  rejectHandshakeDefault,
];
