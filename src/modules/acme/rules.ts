import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DirectiveNode } from '../../../grammar/index.ts';
import { certificateId } from '../../acme/index.ts';
import { type BlockView, hostOf, isLocal } from '../../config/index.ts';
import {
  type CheckedModule,
  configOf,
  type ConfigReport,
  type ModuleRule,
  type Problem,
} from '../../contract/index.ts';
import { type AcmeConfig, issuersOf } from './directives.ts';
import { settle } from './settle.ts';

type Checked = CheckedModule<AcmeConfig>;

const AUTHORITY = 'uri https://ca.example/directory;';
const STATE = 'state_path state/acme;';
const TERMS = 'accept_terms_of_service;';
const TLS = 'server { listen 443 ssl; server_name shop.example; acme_certificate le; return 204; }';
const PLAIN = 'server { listen 80; server_name shop.example; return 301 https://shop.example$request_uri; }';

/** A configuration with one issuer. */
const site = (issuer: string, servers = `${PLAIN}\n${TLS}`): string =>
  `acme_issuer le { ${issuer} }\n${servers}`;

/** The blocks of issuers, each with its directive. */
function* issuerBlocks(
  config: Checked,
): Generator<{ readonly node: DirectiveNode; readonly block: BlockView }> {
  for (const block of config.blocks('acme_issuer')) if (block.node) yield { node: block.node, block };
}

const nameOf = (node: DirectiveNode): string => node.args[0]?.value ?? '';

const own = (block: BlockView, name: string): DirectiveNode | undefined =>
  block.own().find((node) => node.name.value === name);

const statePath: ModuleRule<AcmeConfig> = {
  id: 'GW521',
  slug: 'acme-state-path',
  severity: 'error',
  summary: 'an ACME issuer without a directory of its own for account, certificates and keys',
  why: 'The default depends on where gw is started. Without what it keeps there, a start orders all certificates again; authorities allow a few of the same in a week, and then none.',
  fix: 'Name a directory that is part of your backups: "state_path /var/lib/gw/acme".',
  bad: { in: 'http', text: site(`${AUTHORITY} ${TERMS}`) },
  good: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS}`) },
  *check(config: Checked): Iterable<Problem> {
    for (const { node, block } of issuerBlocks(config)) {
      const set = own(block, 'state_path');
      if (!set)
        yield {
          at: node,
          message: `issuer "${nameOf(node)}" has no "state_path": it is "acme_${nameOf(node)}" below the prefix`,
        };
      else if (set.args[0]?.value === 'off')
        yield {
          at: set,
          severity: 'warning',
          message: `issuer "${nameOf(node)}" keeps nothing: each start orders all certificates again`,
        };
    }
  },
};

const PLAIN_PORT = '80';
const TLS_PORT = '443';

interface Port {
  readonly port: string;
  readonly isTls: boolean;
  /** Only this machine reaches it: something in front passes on what comes from outside. */
  readonly isLocal: boolean;
}

function portsOf(block: BlockView): readonly Port[] {
  const listens = block.own().filter(({ name }) => name.value === 'listen');
  if (listens.length === 0) return [{ port: PLAIN_PORT, isTls: false, isLocal: false }];
  return listens.map(({ args: [address, ...parameters] }) => ({
    port: /^(?:.*:)?(\d+)$/.exec(address?.value ?? '')?.[1] ?? PLAIN_PORT,
    isTls: parameters.some(({ value }) => value === 'ssl'),
    isLocal: isLocal(hostOf(address?.value ?? '')),
  }));
}

function listensOn(config: Checked, wanted: Pick<Port, 'port' | 'isTls'>): boolean {
  return config
    .blocks('server')
    .flatMap(portsOf)
    .some(
      ({ port, isTls, isLocal: isBehind }) => isTls === wanted.isTls && (port === wanted.port || isBehind),
    );
}

/** The issuers of a challenge that certificates are ordered from. */
function* usedIssuers(config: Checked, challenge: string): Generator<DirectiveNode> {
  const used = new Set(config.uses('acme_certificate').map(({ node }) => nameOf(node)));
  for (const { node, block } of issuerBlocks(config)) {
    const issuer = issuersOf(config.configIn(block)).find(({ name }) => name === nameOf(node));
    const type = issuer?.challenge ?? own(block, 'challenge')?.args[0]?.value ?? 'http-01';
    if (used.has(nameOf(node)) && `${type}-01`.startsWith(challenge)) yield node;
  }
}

const noPlainPort: ModuleRule<AcmeConfig> = {
  id: 'GW522',
  slug: 'acme-no-plain-port',
  severity: 'warning',
  summary: 'http-01 without a server that listens on port 80',
  why: 'The authority asks at port 80 of each name, and at no other. Without somebody who passes these requests on to gw, it gets no certificate.',
  fix: 'Add "listen 80", or use "challenge tls-alpn-01" or "dns-01".',
  bad: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS}`, TLS) },
  good: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS}`) },
  *check(config: Checked): Iterable<Problem> {
    if (listensOn(config, { port: PLAIN_PORT, isTls: false })) return;
    for (const node of usedIssuers(config, 'http-01'))
      yield {
        at: node,
        message: `issuer "${nameOf(node)}" proves names by http-01, and no server listens on port 80 without TLS`,
      };
  },
};

const noTlsPort: ModuleRule<AcmeConfig> = {
  id: 'GW523',
  slug: 'acme-no-tls-port',
  severity: 'warning',
  summary: 'tls-alpn-01 without a server that listens on port 443',
  why: 'The authority shakes hands at port 443 of each name, and at no other.',
  fix: 'Add "listen 443 ssl", or use "challenge http-01" or "dns-01".',
  bad: {
    in: 'http',
    text: site(
      `${AUTHORITY} ${STATE} ${TERMS} challenge tls-alpn-01;`,
      'server { listen 8443 ssl; server_name shop.example; acme_certificate le; return 204; }',
    ),
  },
  good: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS} challenge tls-alpn-01;`) },
  *check(config: Checked): Iterable<Problem> {
    if (listensOn(config, { port: TLS_PORT, isTls: true })) return;
    for (const node of usedIssuers(config, 'tls-alpn-01'))
      yield {
        at: node,
        message: `issuer "${nameOf(node)}" proves names by tls-alpn-01, and no server listens on port 443 with TLS`,
      };
  },
};

const terms: ModuleRule<AcmeConfig> = {
  id: 'GW524',
  slug: 'acme-terms',
  severity: 'warning',
  summary: 'an ACME issuer whose terms of service nobody has accepted',
  why: 'Most authorities have terms, and create no account without it.',
  fix: 'Read the terms of the authority, and add "accept_terms_of_service".',
  bad: { in: 'http', text: site(`${AUTHORITY} ${STATE}`) },
  good: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS}`) },
  *check(config: Checked): Iterable<Problem> {
    for (const { node, block } of issuerBlocks(config))
      if (!own(block, 'accept_terms_of_service'))
        yield { at: node, message: `issuer "${nameOf(node)}" does not accept the terms of service` };
  },
};

const staging: ModuleRule<AcmeConfig> = {
  id: 'GW525',
  slug: 'acme-staging',
  severity: 'warning',
  summary: 'certificates of a staging environment',
  why: 'No browser trusts them: they are for trying a configuration.',
  fix: "Use the authority itself: for Let's Encrypt https://acme-v02.api.letsencrypt.org/directory.",
  bad: {
    in: 'http',
    text: site(`uri https://acme-staging-v02.api.letsencrypt.org/directory; ${STATE} ${TERMS}`),
  },
  good: { in: 'http', text: site(`uri https://acme-v02.api.letsencrypt.org/directory; ${STATE} ${TERMS}`) },
  *check(config: Checked): Iterable<Problem> {
    for (const { node } of config.uses('uri', 'acme_server', 'acme_staging')) {
      const value = nameOf(node);
      const isStaging = node.name.value === 'acme_staging' ? value === 'on' : isStagingHost(value);
      if (isStaging)
        yield { at: node, message: 'no browser trusts the certificates of a staging environment' };
    }
  },
};

const isStagingHost = (url: string): boolean =>
  URL.canParse(url) && /(?:^|[.-])(?:staging|test)(?:[.-]|$)/.test(new URL(url).hostname);

const unused: ModuleRule<AcmeConfig> = {
  id: 'GW526',
  slug: 'acme-certificate-unused',
  severity: 'warning',
  summary: 'a certificate that is ordered and that no client sees',
  why: 'The server shows the certificate of "ssl_certificate" instead, or none at all.',
  fix: 'Once gw acme status lists it as valid, remove "ssl_certificate" and "ssl_certificate_key", or write "ssl_certificate $acme_certificate" and "ssl_certificate_key $acme_certificate_key"; and listen with "ssl".',
  bad: {
    in: 'http',
    text: site(
      `${AUTHORITY} ${STATE} ${TERMS}`,
      'server { listen 80; server_name shop.example; acme_certificate le; return 204; }',
    ),
  },
  good: { in: 'http', text: site(`${AUTHORITY} ${STATE} ${TERMS}`) },
  *check(config: Checked): Iterable<Problem> {
    for (const { node, block } of config.uses('acme_certificate', 'acme_domain')) {
      const names = block.from('ssl').get('certificates')?.nodes ?? [];
      const isShown = names.length === 0 || names.some(({ args }) => /\$\{?\w/.test(args[0]?.value ?? ''));
      const isAsked = portsOf(block).some(({ isTls }) => isTls);
      if (!isShown)
        yield {
          at: node,
          message: 'the server shows the certificate of "ssl_certificate" instead of this one',
        };
      else if (!isAsked) yield { at: node, message: 'no "listen" of the server has the parameter "ssl"' };
    }
  },
};

const unreachable: ModuleRule<AcmeConfig> = {
  id: 'GW527',
  slug: 'acme-authority-unreachable',
  severity: 'error',
  live: true,
  summary: 'an ACME authority that does not respond',
  why: 'Nothing is ordered or renewed until it does.',
  fix: 'Check "uri", that gw reaches the authority, and that "ssl_trusted_certificate" has its authority.',
  bad: { in: 'http', text: `${site(`${AUTHORITY} ${STATE} ${TERMS}`)} # no response` },
  good: { in: 'http', text: `${site(`${AUTHORITY} ${STATE} ${TERMS}`)} # it has a directory` },
};

/** What is wrong with names is a fault of the load. */
const ignore = (): void => undefined;
const UNHEARD: ConfigReport<AcmeConfig> = { on: ignore, warn: ignore, phrase: ignore };

/** The certificate that a server orders, and where its issuer keeps it. */
function keptIn(
  block: BlockView,
  config: Checked,
): { readonly id: string; readonly path: string } | undefined {
  const { serverNames = [] } = configOf(block.level, 'core');
  const { served } = settle(
    config.configIn(block),
    { match: undefined, serverNames: serverNames.flat() },
    UNHEARD,
  );
  const { certificate, issuers = [] } = served ?? {};
  const statePath = issuers.find(({ name }) => name === certificate?.issuer)?.statePath;
  if (!certificate || statePath === undefined) return undefined;
  const id = certificateId(certificate);
  return { id, path: join(statePath, 'certificates', id, 'pair.pem') };
}

/** When a stored certificate ends, in ms since the epoch; `undefined` if there is none that can be read. */
function endOf(path: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(path)).validTo);
  } catch {
    return undefined;
  }
}

const KEPT = 'state/certificates/shop.example/pair.pem';

const expired: ModuleRule<AcmeConfig> = {
  id: 'GW528',
  slug: 'acme-certificate-expired',
  severity: 'error',
  summary: 'a certificate that gw has ordered and that has expired',
  why: 'It was not renewed: browsers refuse the site.',
  fix: 'The error log and "gw acme status" say why orders fail, and when the next one is due; "gw acme renew" has one made at once.',
  bad: {
    in: 'http',
    text: site(`${AUTHORITY} state_path state; ${TERMS}`),
    files: { [KEPT]: { names: ['shop.example'], days: 0 } },
  },
  good: {
    in: 'http',
    text: site(`${AUTHORITY} state_path state; ${TERMS}`),
    files: { [KEPT]: { names: ['shop.example'], days: 60 } },
  },
  *check(config: Checked): Iterable<Problem> {
    for (const { node, block } of config.uses('acme_certificate', 'acme_domain')) {
      const kept = keptIn(block, config);
      const endMs = kept && endOf(kept.path);
      if (endMs === undefined || endMs > Date.now()) continue;
      const day = new Date(endMs).toISOString().slice(0, 10);
      yield { at: node, message: `certificate "${kept?.id}" expired on ${day}` };
    }
  },
};

/** The rules of the module. */
export const rules: readonly ModuleRule<AcmeConfig>[] = [
  statePath,
  noPlainPort,
  noTlsPort,
  terms,
  staging,
  unused,
  unreachable,
  expired,
];
