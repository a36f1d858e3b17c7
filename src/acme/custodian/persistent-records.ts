import type { AcmeIdentifier } from '../plan.ts';

/** What a TXT record of dns-persist-01 has to say (draft-ietf-acme-dns-persist). */
interface Wanted {
  readonly identifier: AcmeIdentifier;
  /** The URL of the account. */
  readonly accountUrl: string;
  /** The names of the authority, one of which the record must have; absent: any. */
  readonly issuerDomainNames?: readonly string[] | undefined;
  readonly nowMs: number;
}

/** Number of names that a challenge may have. */
const MOST_NAMES = 10;

/** The name of the record for an identifier. */
export function persistentRecordName({ value }: Pick<AcmeIdentifier, 'value'>): string {
  return `_validation-persist.${value.replace(/^\*\./, '')}`;
}

/** Why the `issuer-domain-names` of a challenge cannot be used; `undefined`: they can. */
export function issuerDomainsFault(names: readonly string[] | undefined): string | undefined {
  if (names === undefined || names.length === 0) return 'the challenge has no "issuer-domain-names"';
  return names.length > MOST_NAMES
    ? `the challenge has more than ${MOST_NAMES} "issuer-domain-names"`
    : undefined;
}

/** Returns why none of the records of a name lets the account have a certificate; `undefined`: one does. */
export function persistentRecordFault(records: readonly string[], wanted: Wanted): string | undefined {
  const { identifier, accountUrl, issuerDomainNames } = wanted;
  if (records.some((record) => allows(record, wanted))) return undefined;
  const domain = issuerDomainNames?.[0] ?? 'ISSUER-DOMAIN';
  const policy = isWildcard(identifier) ? '; policy=wildcard' : '';
  const found = records.length === 0 ? 'there is no TXT record' : 'no TXT record fits';
  return `${found} at "${persistentRecordName(identifier)}": expected "${domain}; accounturi=${accountUrl}${policy}"`;
}

function isWildcard({ value }: AcmeIdentifier): boolean {
  return value.startsWith('*.');
}

/** The value is that of an issue property of CAA (RFC 8659, 4.2): a domain, then parameters after semicolons. */
function allows(record: string, { identifier, accountUrl, issuerDomainNames, nowMs }: Wanted): boolean {
  const [domain = '', ...rest] = record.split(';').map((part) => part.trim());
  const parameters = new Map(
    rest.map((part) => {
      const at = part.indexOf('=');
      return [part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()] as const;
    }),
  );
  const isOfAuthority = issuerDomainNames?.some((name) => isSameDomain(name, domain)) ?? true;
  if (!isOfAuthority || parameters.get('accounturi') !== accountUrl) return false;
  if (isWildcard(identifier) && parameters.get('policy')?.toLowerCase() !== 'wildcard') return false;
  const until = parameters.get('persistuntil');
  return until === undefined || (/^\d{1,12}$/.test(until) && Number(until) * 1_000 > nowMs);
}

function isSameDomain(one: string, other: string): boolean {
  const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '');
  return plain(one) === plain(other);
}
