import type { Word } from '../../../grammar/index.ts';
import { type AcmeIdentifier, type AcmeIssuer, type AcmeKeyKind, USUAL_KEY } from '../../acme/index.ts';
import { type ArgReader, directivesFor, readers, type ReadScope, uses } from '../../config/index.ts';
import type { AcmeServerConfig } from '../../contract/index.ts';
import { issuerUrlFault } from '../../issuer/index.ts';
import { readIdentifiers } from './identifiers.ts';
import { issuerDirectives, type IssuerFields } from './issuer-directives.ts';
import { nginzDirectives, type NginzFields, nginzIssuer } from './nginz-directives.ts';
import { readKeyKind } from './readers.ts';

/** What `acme_certificate` says; without identifiers they are the names of the server. */
interface CertificateOrder {
  readonly issuer: string;
  readonly identifiers: readonly AcmeIdentifier[];
  readonly key: AcmeKeyKind;
}

/** `acme_on_demand`. */
interface OnDemandConfig {
  /** A URI of this server, or a URL. */
  readonly ask: string;
  readonly rate: { readonly orders: number; readonly perMs: number };
  readonly max: number;
}

/** The configuration of one server or location. */
export interface AcmeConfig extends IssuerFields, NginzFields, AcmeServerConfig {
  readonly issuers?: readonly AcmeIssuer[];
  readonly sharedZone?: { readonly name: string; readonly sizeBytes: number };
  readonly order?: CertificateOrder;
  readonly cluster?: string;
  readonly onDemand?: OnDemandConfig;
}

/** All issuers, that of nginz's directives among them. */
export function issuersOf(config: AcmeConfig): readonly AcmeIssuer[] {
  const own = nginzIssuer(config);
  return own ? [...(config.issuers ?? []), own] : (config.issuers ?? []);
}

function readKey({ value, span }: Word, { report }: ReadScope): AcmeKeyKind | undefined {
  const kind = readKeyKind(value.slice('key='.length));
  if (!kind)
    report.emerg(`invalid key "${value}"`, span, 'expected ecdsa:256, ecdsa:384, rsa:2048, rsa:4096');
  return kind;
}

/** Reads `acme_certificate`. */
const order: ArgReader<CertificateOrder> = readers.words(
  { syntax: 'issuer [identifier ...] [key=alg[:size]]', min: 1, max: Infinity },
  ([issuer, ...words], scope) => {
    if (!issuer) return undefined;
    const identifiers: AcmeIdentifier[] = [];
    let key: AcmeKeyKind = USUAL_KEY;
    let isWrong = false;
    for (const word of words) {
      if (word.value.startsWith('key=')) {
        const kind = readKey(word, scope);
        isWrong ||= kind === undefined;
        key = kind ?? key;
        continue;
      }
      const read = readIdentifiers(word.value);
      if (!('fault' in read)) identifiers.push(...read);
      else {
        scope.report.emerg(
          `invalid identifier "${word.value}" in "${scope.directive}" directive`,
          word.span,
          read.fault,
        );
        isWrong = true;
      }
    }
    return isWrong ? undefined : { issuer: issuer.value, identifiers, key };
  },
);

const UNITS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};
const USUAL_RATE = { orders: 10, perMs: 60_000 };
const USUAL_MAX = 1_000;
/** Each has room in shared memory. */
const MOST_ON_DEMAND = 100_000;

/** What one parameter of `acme_on_demand` sets; `undefined`: it is none. */
function readParameter(text: string): Partial<OnDemandConfig> | undefined {
  const [name, value = ''] = text.split(/=(.*)/s, 2);
  if (name === 'ask') {
    const isUri = /^\/[^\s$?#]*$/.test(value);
    return isUri || issuerUrlFault(value) === undefined ? { ask: value } : undefined;
  }
  if (name === 'rate') {
    const [, orders = '', unit = ''] = /^(\d{1,6})\/([a-z]+)$/.exec(value) ?? [];
    const perMs = UNITS[unit];
    return perMs === undefined || Number(orders) === 0
      ? undefined
      : { rate: { orders: Number(orders), perMs } };
  }
  const max = name === 'max' && /^\d{1,6}$/.test(value) ? Number(value) : 0;
  return max > 0 && max <= MOST_ON_DEMAND ? { max } : undefined;
}

/** Reads `acme_on_demand`. */
const onDemand: ArgReader<OnDemandConfig> = readers.words(
  { syntax: 'ask=uri|URL [rate=number/unit] [max=number]', min: 1, max: 3 },
  (words, { report, span, directive }) => {
    let read: Partial<OnDemandConfig> = {};
    for (const word of words) {
      const parameter = readParameter(word.value);
      if (!parameter) {
        const hint = 'expected ask=/uri, ask=https://…, rate=10/minute, max=1000';
        report.emerg(`invalid parameter "${word.value}"`, word.span, hint);
        return undefined;
      }
      read = { ...read, ...parameter };
    }
    if (read.ask !== undefined) return { rate: USUAL_RATE, max: USUAL_MAX, ...read, ask: read.ask };
    report.emerg(
      `"${directive}" must have "ask" parameter`,
      span,
      'otherwise anybody could have gw order certificates for any name',
    );
    return undefined;
  },
);

const sharedZone = readers.oneWord('zone=name:size', (word, scope) => {
  const zone = readers.readZone(word, scope);
  if (zone && zone.name === '') scope.report.emerg(`invalid zone name "${word.value}"`, word.span);
  return zone && zone.name !== '' ? zone : undefined;
});

const NGINX = 'nginx ngx_http_acme_module';

export const directives = directivesFor<AcmeConfig>()({
  ...issuerDirectives,
  ...nginzDirectives,
  acme_shared_zone: {
    contexts: ['http'],
    args: sharedZone,
    into: 'sharedZone',
    defaultText: 'zone=ngx_acme_shared, as large as the certificates need',
    summary:
      'The shared memory that holds certificates, keys and what proves challenges. It is not the zone of another directive with the same name.',
    source: `${NGINX}#acme_shared_zone`,
  },
  acme_certificate: {
    contexts: ['server'],
    args: order,
    into: 'order',
    inherit: false,
    roles: uses('ACME issuer'),
    summary:
      'Orders a certificate for these names and addresses, or for the names of the server, from an issuer, and renews it. Without `ssl_certificate` the server shows it to its clients.',
    source: `${NGINX}#acme_certificate`,
  },
  acme_cluster: {
    contexts: ['http'],
    args: readers.text,
    into: 'cluster',
    roles: uses('cluster'),
    summary:
      'The gateways of this cluster share certificates: one of them orders, and each can prove a challenge of the others.',
    source: 'gw',
  },
  acme_on_demand: {
    contexts: ['server'],
    args: onDemand,
    into: 'onDemand',
    inherit: false,
    summary:
      'Orders certificates for names that clients ask for and that `server_name` covers by a wildcard or a regular expression, or that reach the default server: if a request for `ask` with the argument `domain` gets 200. The handshake waits for at most 10 seconds.',
    source: 'gw',
  },
});
